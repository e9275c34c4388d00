package header_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario changes the file "file" of a folder under strace. Only the calls
// of run are recorded.
type scenario struct {
	name    string
	fs      string // of the image
	size    int    // of the content
	prepare func(file string) error
	run     func(file string) (header.Result, error)
	way     header.Strategy

	// The number of calls, beside the golden file, which an update overwrites.
	calls int

	// What is made to fail: the calls of these names, "" for all. The others
	// are those of another scenario.
	fails string
}

var (
	inPlace = header.Options{Mode: header.InPlace, Pad: header.PadByte(' ')}
	top     = []byte("// header\n")
)

func reserved(file string) error {
	_, err := header.Reserve(file, 4096, header.Options{Pad: inPlace.Pad, Level: durability.Kill})
	return err
}

func inserting(o header.Options) func(string) (header.Result, error) {
	return func(file string) (header.Result, error) { return header.Insert(file, top, o) }
}

var scenarios = []scenario{
	{name: "copy", fs: "ext4", size: 1000, run: inserting(header.Options{}), way: header.Copy, calls: 36},
	{name: "copy-kill", fs: "ext4", size: 1000, run: inserting(kill), way: header.Copy, calls: 34, fails: "renameat2"},
	{name: "copy-mapped", fs: "ext4", size: 300 << 10, run: inserting(header.Options{Strategy: header.Copy}), way: header.Copy, calls: 39, fails: "fallocate,pwrite64,fdatasync"},
	{name: "copy-times", fs: "ext4", size: 1000, run: inserting(header.Options{KeepTimes: true}), way: header.Copy, calls: 37, fails: "utimensat"},
	{name: "kernel-copy", fs: "ext4", size: 300 << 10, run: inserting(header.Options{}), way: header.KernelCopy, calls: 37, fails: "copy_file_range,pwrite64"},
	{name: "clone", fs: "xfs", size: 2 << 20, run: inserting(header.Options{Pad: header.PadByte(' ')}), way: header.Clone, calls: 34},
	{name: "slot", fs: "ext4", size: 1000, prepare: reserved, run: inserting(inPlace), way: header.Slot, calls: 17},
	{name: "slot-kill", fs: "ext4", size: 1000, prepare: reserved, run: inserting(header.Options{
		Level: durability.Kill, Mode: header.InPlace,
	}), way: header.Slot, calls: 15},
	{name: "slot-replace", fs: "ext4", size: 1000, prepare: func(file string) error {
		if err := reserved(file); err != nil {
			return err
		}
		_, err := header.Insert(file, []byte("// an older header\n"), inPlace)
		return err
	}, run: func(file string) (header.Result, error) { return header.Replace(file, top, inPlace) }, way: header.Slot, calls: 17, fails: "pread64,pwrite64,fsync,fdatasync"},
	{name: "swap", fs: "ext4", size: 1000, run: func(file string) (header.Result, error) {
		return header.Swap(file, bytesOf(1000)[:20], top, header.Options{})
	}, way: header.Copy, calls: 33, fails: "pread64,pwrite64,fdatasync,renameat2"},
}

const traceEnv = roleEnv + "_TRACE"

// init keeps TestMain on the first thread, the only one that strace follows
// without -f: so no call of the runtime's other threads gets in between.
func init() {
	if strings.HasPrefix(os.Getenv(roleEnv), "trace:") {
		runtime.LockOSThread()
	}
}

// How a traced process ends.
const (
	exitOK = iota
	exitBroken
	exitFailed
	exitNotDurable
	exitInterrupted
)

func playTrace(name, file string) int {
	s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
	// What a process asks for once, it has asked for.
	warm := filepath.Join(filepath.Dir(file), "warm")
	err := os.WriteFile(warm, []byte("x"), 0o644)
	if err == nil {
		_, err = header.Insert(warm, top, kill)
	}
	if err = errors.Join(err, os.Remove(warm)); err != nil {
		fmt.Println(err)
		return exitBroken
	}
	mark("begin")
	res, err := s.run(file)
	mark("end")
	fmt.Printf("%+v, %v\n", res, err)
	switch {
	case err == nil && res.Strategy != s.way && os.Getenv(traceEnv) == "":
		return exitBroken
	case err == nil:
		return exitOK
	case errors.Is(err, atomicfile.ErrNotDurable):
		return exitNotDurable
	case errors.Is(err, header.ErrInterrupted):
		return exitInterrupted
	}
	return exitFailed
}

// mark makes a call that nothing else makes, to be found in the trace.
func mark(what string) { unix.Faccessat(unix.AT_FDCWD, "/stele-trace-"+what, 0, 0) }

const traced = "openat,newfstatat,fstat,fstatfs,flock,lseek,pread64,pwrite64,write,fallocate,ftruncate,copy_file_range,ioctl,utimensat," +
	"fsync,fdatasync,sync_file_range,fchmod,fchown,renameat2,unlinkat,close,readlinkat,flistxattr,fgetxattr,fsetxattr,fremovexattr,faccessat,faccessat2"

// A stage is a folder with a file for a scenario.
type stage struct{ dir, file string }

func (s scenario) stage(t *testing.T) stage {
	t.Helper()
	i := slices.IndexFunc(images(), func(w where) bool { return w.name == s.fs })
	if i < 0 {
		t.Skip("needs root, loop devices and mkfs." + s.fs)
	}
	dir, err := os.MkdirTemp(images()[i].dir, "root")
	must(t, err)
	st := stage{dir, filepath.Join(dir, "file")}
	must(t, os.WriteFile(st.file, bytesOf(s.size), 0o644))
	must(t, unix.Setxattr(st.file, "user.mine", []byte("x"), 0))
	if s.prepare != nil {
		must(t, s.prepare(st.file))
	}
	return st
}

// trace runs a scenario under strace.
func (s scenario) trace(t *testing.T, st stage, options ...string) (raw, said string, exit int) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	out := filepath.Join(t.TempDir(), "strace")
	args := append([]string{"-y", "-e", "signal=none", "-e", "trace=" + traced, "-o", out}, options...)
	cmd := exec.Command("strace", append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), roleEnv+"=trace:"+s.name, roleEnv+"_FILE="+st.file, "GOCOVERDIR="+t.TempDir())
	if len(options) > 0 {
		cmd.Env = append(cmd.Env, traceEnv+"=fault")
	}
	msg, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == exitBroken || cmd.ProcessState.ExitCode() < 0 && len(options) == 0 {
		t.Fatalf("%v: %s", err, msg)
	}
	b, err := os.ReadFile(out)
	must(t, err)
	return string(b), string(msg), cmd.ProcessState.ExitCode()
}

// A call is one between the marks.
type call struct {
	name string
	nth  int // of its name since the process began, from 1 on, as strace counts
	line string
}

func callsOf(raw string) (calls []call) {
	seen := map[string]int{}
	for line := range strings.Lines(raw) {
		name, _, _ := strings.Cut(line, "(")
		seen[name]++
		switch {
		case strings.Contains(line, "/stele-trace-begin"):
			calls = nil
		case strings.Contains(line, "/stele-trace-end"):
			return calls
		default:
			calls = append(calls, call{name, seen[name], strings.TrimSpace(line)})
		}
	}
	return nil
}

var (
	tempFile   = regexp.MustCompile(`\.stele-[0-9a-z-]+\.tmp`)
	descriptor = regexp.MustCompile(`(AT_FDCWD|\b[0-9]+)<[^>]*>`)
	address    = regexp.MustCompile(`\b0x[0-9a-f]+`)
	text       = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\.{0,3}, ([0-9]+)`)
	braces     = regexp.MustCompile(`\{.*\}|\[.*\]`)
	padding    = regexp.MustCompile(`\) += `)
	message    = regexp.MustCompile(` \([A-Z][^)]*\)$`)
)

// normalise returns calls with names in place of descriptors, and without
// what is another each time.
func normalise(calls []call, dir string) string {
	var b strings.Builder
	for _, c := range calls {
		line := strings.ReplaceAll(c.line, dir, "ROOT")
		line = tempFile.ReplaceAllString(line, "TEMP")
		line = descriptor.ReplaceAllStringFunc(line, func(d string) string {
			if strings.HasPrefix(d, "AT_FDCWD") {
				return "AT_FDCWD"
			}
			return d[strings.IndexByte(d, '<'):]
		})
		line = address.ReplaceAllString(line, "ADDRESS")
		if c.name != "openat" && c.name != "renameat2" && c.name != "newfstatat" {
			line = text.ReplaceAllString(line, "..., $1")
		}
		line = braces.ReplaceAllString(line, "{...}")
		line = padding.ReplaceAllString(line, ") = ")
		line = message.ReplaceAllString(line, "")
		b.WriteString(line + "\n")
	}
	return b.String()
}

func TestTraces(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			st := s.stage(t)
			raw, said, exit := s.trace(t, st)
			if exit != exitOK {
				t.Fatal(said)
			}
			calls := callsOf(raw)
			got := normalise(calls, st.dir)
			if len(calls) != s.calls {
				t.Errorf("%d calls, want %d", len(calls), s.calls)
			}
			golden := filepath.Join("testdata", s.name+".trace")
			if *update {
				must(t, os.MkdirAll("testdata", 0o755))
				must(t, os.WriteFile(golden, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if got != string(want) {
				t.Errorf("system calls differ from %s (-update writes it anew)\ngot\n%swant\n%s", golden, got, want)
			}
		})
	}
}

// Killed at every call, once before it and once behind it: the file is as it
// was or as it was to be, after Recover where it was changed in place.
func TestKilled(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			st := s.stage(t)
			old, err := os.ReadFile(st.file)
			must(t, err)
			raw, said, exit := s.trace(t, st)
			if exit != exitOK {
				t.Fatal(said)
			}
			want, err := os.ReadFile(st.file)
			must(t, err)
			var states [3]int
			for _, c := range callsOf(raw) {
				if s.fails != "" && !slices.Contains(strings.Split(s.fails, ","), c.name) {
					continue
				}
				for _, how := range []string{":error=EIO:signal=KILL", ":signal=KILL"} {
					st := s.stage(t)
					if _, said, exit := s.trace(t, st, "-e", fmt.Sprintf("inject=%s%s:when=%d", c.name, how, c.nth)); exit >= 0 {
						t.Errorf("%s: not killed: %s", c.line, said)
					}
					state, err := header.Recover(st.file)
					must(t, err)
					now, err := os.ReadFile(st.file)
					must(t, err)
					isOld, isNew := bytes.Equal(now, old), bytes.Equal(now, want)
					if !isOld && !isNew || state == header.Old && !isOld || state == header.New && !isNew {
						t.Errorf("killed at %s: %v, old %v, new %v", c.line, state, isOld, isNew)
					}
					if got, err := header.Read(st.file); isNew && s.name != "swap" && (err != nil || !bytes.Equal(got, top)) {
						t.Errorf("killed at %s: the new header reads %q, %v", c.line, got, err)
					}
					states[state]++
					_, err = atomicfile.Sweep(st.dir)
					must(t, err)
					only(t, st.dir, "file")
					must(t, os.RemoveAll(st.dir))
				}
			}
			if s.way == header.Slot && (states[header.Old] == 0 || states[header.New] == 0) {
				t.Errorf("Recover had nothing to end: %v", states)
			}
		})
	}
}

// faults are the ways in which each call is made to fail.
var faults = map[string][]string{
	"openat":          {"EMFILE"},
	"newfstatat":      {"EIO"},
	"fstat":           {"EIO"},
	"fstatfs":         {"EIO"},
	"flock":           {"ENOLCK"},
	"lseek":           {"EIO"},
	"pread64":         {"EIO"},
	"pwrite64":        {"ENOSPC", "EDQUOT", "EIO"},
	"fallocate":       {"ENOSPC", "EOPNOTSUPP"},
	"ftruncate":       {"EIO"},
	"copy_file_range": {"EIO", "EXDEV"},
	"ioctl":           {"EOPNOTSUPP", "EIO"},
	"utimensat":       {"EIO"},
	"fsync":           {"EIO"},
	"fdatasync":       {"EIO", "ENOSPC"},
	"fchmod":          {"EPERM"},
	"fchown":          {"EPERM"},
	"renameat2":       {"EIO", "ENOSPC"},
	"close":           {"EIO"},
	"flistxattr":      {"EIO"},
	"fgetxattr":       {"EIO", "EOPNOTSUPP"},
	"fsetxattr":       {"ENOSPC", "EIO"},
	"fremovexattr":    {"EIO"},
}

// mayPass reports whether a call's failure may leave no trace in the outcome:
// closing what was only read, another way that is taken instead, or a record
// that is not kept. What has to be durable, or to be written, is none of it.
func mayPass(c call, fault string) bool {
	switch c.name {
	case "close":
		return !tempFile.MatchString(c.line)
	case "fallocate", "ioctl", "copy_file_range":
		return fault == "EOPNOTSUPP" || fault == "EXDEV"
	case "fsetxattr":
		return fault == "ENOSPC" && strings.Contains(c.line, "user.stele.")
	case "fgetxattr":
		return fault == "EOPNOTSUPP" || tempFile.MatchString(c.line)
	}
	return false
}

// Every call fails in turn: the file is as it was, or as it was to be; where
// the error says that it may be neither, Recover makes it one of both. No
// temporary file stays that Sweep does not remove.
func TestFaults(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			st := s.stage(t)
			old, err := os.ReadFile(st.file)
			must(t, err)
			raw, said, exit := s.trace(t, st)
			if exit != exitOK {
				t.Fatal(said)
			}
			want, err := os.ReadFile(st.file)
			must(t, err)
			calls := callsOf(raw)
			if len(calls) < 10 {
				t.Fatalf("found the calls %v", calls)
			}
			for _, c := range calls {
				if s.fails != "" && !slices.Contains(strings.Split(s.fails, ","), c.name) {
					continue
				}
				if faults[c.name] == nil {
					t.Errorf("no fault for %s", c.line)
				}
				for _, fault := range faults[c.name] {
					s.inject(t, c, fault, old, want)
				}
			}
		})
	}
}

// inject fails one call of a scenario.
func (s scenario) inject(t *testing.T, c call, fault string, old, want []byte) {
	t.Helper()
	st := s.stage(t)
	defer os.RemoveAll(st.dir)
	raw, said, exit := s.trace(t, st, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", c.name, fault, c.nth))
	what := fmt.Sprintf("%s of %s", fault, c.line)
	if !slices.ContainsFunc(callsOf(raw), func(c call) bool { return strings.Contains(c.line, "(INJECTED)") }) {
		t.Errorf("%s was not injected between the marks", what)
		return
	}
	now, err := os.ReadFile(st.file)
	must(t, err)
	isOld, isNew := bytes.Equal(now, old), bytes.Equal(now, want)
	// Without the right strategy the padding is another.
	elsewise := bytes.HasPrefix(now, top) && bytes.HasSuffix(now, old[min(len(old), 20):]) && mayPass(c, fault)
	switch exit {
	case exitOK:
		if !mayPass(c, fault) {
			t.Errorf("%s: taken for success: %s", what, said)
		}
		if !isNew && !elsewise {
			t.Errorf("%s: success, and the file is not new", what)
		}
	case exitFailed:
		if !isOld {
			t.Errorf("%s: the file is not as it was: %s", what, said)
		}
		if !strings.Contains(said, st.dir) {
			t.Errorf("%s: the error %q does not name the path", what, said)
		}
	case exitNotDurable:
		if c.name != "fsync" || !isNew {
			t.Errorf("%s: the file is not new: %s", what, said)
		}
	case exitInterrupted:
		state, err := header.Recover(st.file)
		now, _ := os.ReadFile(st.file)
		if err != nil || !bytes.Equal(now, old) && state != header.New || !bytes.Equal(now, want) && state == header.New {
			t.Errorf("%s: Recover: %v, %v", what, state, err)
		}
	}
	_, err = atomicfile.Sweep(st.dir)
	must(t, err)
	only(t, st.dir, "file")
	// Whatever it was, the next change finds its way.
	if _, err := header.Insert(st.file, []byte("next"), kill); err != nil {
		t.Errorf("%s: the next change: %v", what, err)
	}
}
