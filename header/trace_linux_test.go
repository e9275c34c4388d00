package header_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/tracetest"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario changes the file "file" of a directory under strace. Only the calls
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

	// The calls that are made to fail, "" for all. Other scenarios cover the others.
	fails string
}

var (
	inPlace = header.Options{Mode: header.InPlace, Pad: header.PadByte(' ')}
	top     = []byte("// header\n")
)

func reserved(file string) error {
	_, err := header.Reserve(context.Background(), file, 4096, header.Options{Pad: inPlace.Pad, Level: durability.Kill})
	return err
}

func inserting(o header.Options) func(string) (header.Result, error) {
	return func(file string) (header.Result, error) { return header.Insert(context.Background(), file, top, o) }
}

var scenarios = []scenario{
	{name: "copy", fs: "ext4", size: 1000, run: inserting(header.Options{}), way: header.Copy, calls: 38},
	{name: "copy-kill", fs: "ext4", size: 1000, run: inserting(kill), way: header.Copy, calls: 37, fails: "renameat2"},
	{name: "copy-mapped", fs: "ext4", size: 300 << 10, run: inserting(header.Options{Strategy: header.Copy}), way: header.Copy, calls: 41, fails: "fallocate,pwrite64,fdatasync"},
	{name: "copy-times", fs: "ext4", size: 1000, run: inserting(header.Options{KeepTimes: true}), way: header.Copy, calls: 39, fails: "utimensat"},
	{name: "kernel-copy", fs: "ext4", size: 300 << 10, run: inserting(header.Options{}), way: header.KernelCopy, calls: 39, fails: "copy_file_range,pwrite64"},
	{name: "clone", fs: "xfs", size: 2 << 20, run: inserting(header.Options{Pad: header.PadByte(' ')}), way: header.Clone, calls: 36},
	{name: "slot", fs: "ext4", size: 1000, prepare: reserved, run: inserting(inPlace), way: header.Slot, calls: 17},
	{name: "slot-kill", fs: "ext4", size: 1000, prepare: reserved, run: inserting(header.Options{
		Level: durability.Kill, Mode: header.InPlace,
	}), way: header.Slot, calls: 15},
	{name: "slot-replace", fs: "ext4", size: 1000, prepare: func(file string) error {
		if err := reserved(file); err != nil {
			return err
		}
		_, err := header.Insert(context.Background(), file, []byte("// an older header\n"), inPlace)
		return err
	}, run: func(file string) (header.Result, error) {
		return header.Replace(context.Background(), file, top, inPlace)
	}, way: header.Slot, calls: 17, fails: "pread64,pwrite64,fsync,fdatasync"},
	{name: "swap", fs: "ext4", size: 1000, run: func(file string) (header.Result, error) {
		return header.Swap(context.Background(), file, bytesOf(1000)[:20], top, header.Options{})
	}, way: header.Copy, calls: 36, fails: "pread64,pwrite64,fdatasync,renameat2"},
}

const traceEnv = roleEnv + "_TRACE"

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
	// Calls that a process makes only once are made here.
	warm := filepath.Join(filepath.Dir(file), "warm")
	err := os.WriteFile(warm, []byte("x"), 0o644)
	if err == nil {
		_, err = header.Insert(context.Background(), warm, top, kill)
	}
	if err = errors.Join(err, os.Remove(warm)); err != nil {
		fmt.Println(err)
		return exitBroken
	}
	tracetest.Begin()
	res, err := s.run(file)
	tracetest.End()
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

const traced = "openat,newfstatat,fstat,fstatfs,flock,lseek,pread64,pwrite64,write,fallocate,ftruncate,copy_file_range,ioctl,utimensat," +
	"fsync,fdatasync,sync_file_range,fchmod,fchown,renameat2,unlinkat,close,readlinkat,flistxattr,llistxattr,fgetxattr,lgetxattr,fsetxattr,fremovexattr"

// A stage is a directory with a file for a scenario.
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

// trace runs a scenario under strace, with the given faults.
func (s scenario) trace(t *testing.T, st stage, faults ...string) tracetest.Trace {
	t.Helper()
	run := tracetest.Run{
		Scenario: s.name, Root: st.dir, Calls: traced, Inject: faults, Killed: len(faults) > 0,
		Env: []string{roleEnv + "=trace:" + s.name, roleEnv + "_FILE=" + st.file},
	}
	if len(faults) > 0 {
		run.Env = append(run.Env, traceEnv+"=fault")
	}
	tr := run.Do(t)
	if tr.Exit == exitBroken {
		t.Fatal(tr.Said)
	}
	return tr
}

// undisturbed runs a scenario without faults. It returns the calls that are to fail, and
// the file before and after.
func (s scenario) undisturbed(t *testing.T) (calls []tracetest.Call, old, want []byte) {
	t.Helper()
	st := s.stage(t)
	old, err := os.ReadFile(st.file)
	must(t, err)
	tr := s.trace(t, st)
	if tr.Exit != exitOK {
		t.Fatal(tr.Said)
	}
	want, err = os.ReadFile(st.file)
	must(t, err)
	if calls = tr.Calls(); len(calls) < 10 {
		t.Fatalf("found the calls %v", calls)
	}
	return slices.DeleteFunc(calls, func(c tracetest.Call) bool {
		return s.fails != "" && !slices.Contains(strings.Split(s.fails, ","), c.Name)
	}), old, want
}

var tempFile = regexp.MustCompile(`\.stele-[0-9a-z-]+\.tmp`)

// rules replace the names, addresses and bytes that differ from run to run. The lengths
// of reads and writes stay.
var rules = []tracetest.Rule{
	{Find: tempFile, By: "TEMP"},
	{Find: regexp.MustCompile(`\b0x[0-9a-f]+`), By: "ADDRESS"},
	{
		Find: regexp.MustCompile(`^((?:pwrite64|pread64|write|flistxattr)\([^"]*|llistxattr\("[^"]*", |f[gs]etxattr\([^"]*"[^"]*", |lgetxattr\("[^"]*", "[^"]*", )"(?:[^"\\]|\\.)*"\.{0,3}, ([0-9]+)`),
		By:   "${1}..., $2", Groups: true,
	},
	{Find: regexp.MustCompile(`\{.*\}|\[.*\]`), By: "{...}"},
}

func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			st := s.stage(t)
			tr := s.trace(t, st)
			if tr.Exit != exitOK {
				t.Fatal(tr.Said)
			}
			if n := len(tr.Calls()); n != s.calls {
				t.Errorf("%d calls, want %d", n, s.calls)
			}
			tracetest.Golden(t, s.name, tr.Normal(st.dir, rules...), *update)
		})
	}
}

// The process is killed at every call, once before it and once after it. The file is old
// or new, after Recover if it was changed in place.
func TestKilled(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			calls, old, want := s.undisturbed(t)
			var states [3]int
			for _, c := range calls {
				for _, how := range []string{":error=EIO:signal=KILL", ":signal=KILL"} {
					st := s.stage(t)
					if tr := s.trace(t, st, fmt.Sprintf("%s%s:when=%d", c.Name, how, c.Nth)); tr.Exit >= 0 {
						t.Errorf("%s: not killed: %s", c.Line, tr.Said)
					}
					state, err := header.Recover(context.Background(), st.file, header.Options{})
					must(t, err)
					now, err := os.ReadFile(st.file)
					must(t, err)
					isOld, isNew := bytes.Equal(now, old), bytes.Equal(now, want)
					if !isOld && !isNew || state == header.Old && !isOld || state == header.New && !isNew {
						t.Errorf("killed at %s: %v, old %v, new %v", c.Line, state, isOld, isNew)
					}
					if got, err := header.Read(context.Background(), st.file, header.Options{}); isNew && s.name != "swap" && (err != nil || !bytes.Equal(got, top)) {
						t.Errorf("killed at %s: the new header reads %q, %v", c.Line, got, err)
					}
					states[state]++
					_, err = atomicfile.Sweep(t.Context(), st.dir, atomicfile.SweepOptions{})
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

// faults are the errors injected into each call.
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
	"llistxattr":      {"EIO"},
	"lgetxattr":       {"EIO"},
	"fgetxattr":       {"EIO", "EOPNOTSUPP"},
	"fsetxattr":       {"ENOSPC", "EIO"},
	"fremovexattr":    {"EIO"},
}

// mayPass reports whether the change may succeed although the call failed: a close of a
// file that is synced or was only read, a lock for Sweep, a call that has a fallback, or
// a record that is not kept. A failed write or sync never passes.
func mayPass(c tracetest.Call, fault string) bool {
	switch c.Name {
	case "close":
		return !tempFile.MatchString(c.Line)
	case "flock":
		return tempFile.MatchString(c.Line)
	case "fstatfs":
		return !strings.Contains(c.Line, "/file>") // of the directory
	case "fallocate", "ioctl", "copy_file_range":
		return fault == "EOPNOTSUPP" || fault == "EXDEV"
	case "fsetxattr":
		return fault == "ENOSPC" && strings.Contains(c.Line, "user.stele.")
	case "fgetxattr":
		return fault == "EOPNOTSUPP" || tempFile.MatchString(c.Line)
	}
	return false
}

// Every call fails in turn. The file is old or new. Where the error says that it may be
// neither, Recover makes it one of both. Sweep removes every temporary file that is
// left.
func TestFaults(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			calls, old, want := s.undisturbed(t)
			for _, c := range calls {
				if faults[c.Name] == nil {
					t.Errorf("no fault for %s", c.Line)
				}
				for _, fault := range faults[c.Name] {
					s.inject(t, c, fault, old, want)
				}
			}
		})
	}
}

// inject fails one call of a scenario.
func (s scenario) inject(t *testing.T, c tracetest.Call, fault string, old, want []byte) {
	t.Helper()
	st := s.stage(t)
	defer os.RemoveAll(st.dir)
	tr := s.trace(t, st, fmt.Sprintf("%s:error=%s:when=%d", c.Name, fault, c.Nth))
	what := fmt.Sprintf("%s of %s", fault, c.Line)
	if !slices.ContainsFunc(tr.Calls(), func(c tracetest.Call) bool { return strings.Contains(c.Line, "(INJECTED)") }) {
		t.Errorf("%s was not injected between the marks", what)
		return
	}
	now, err := os.ReadFile(st.file)
	must(t, err)
	isOld, isNew := bytes.Equal(now, old), bytes.Equal(now, want)
	// Another strategy has another padding.
	elsewise := bytes.HasPrefix(now, top) && bytes.HasSuffix(now, old[min(len(old), 20):]) && mayPass(c, fault)
	switch tr.Exit {
	case exitOK:
		if !mayPass(c, fault) {
			t.Errorf("%s: taken for success: %s", what, tr.Said)
		}
		if !isNew && !elsewise {
			t.Errorf("%s: success, and the file is not new", what)
		}
	case exitFailed:
		if !isOld {
			t.Errorf("%s: the file is not as it was: %s", what, tr.Said)
		}
		if !strings.Contains(tr.Said, st.dir) {
			t.Errorf("%s: the error %q does not name the path", what, tr.Said)
		}
	case exitNotDurable:
		if c.Name != "fsync" || !isNew {
			t.Errorf("%s: the file is not new: %s", what, tr.Said)
		}
	case exitInterrupted:
		state, err := header.Recover(context.Background(), st.file, header.Options{})
		now, _ := os.ReadFile(st.file)
		if err != nil || !bytes.Equal(now, old) && state != header.New || !bytes.Equal(now, want) && state == header.New {
			t.Errorf("%s: Recover: %v, %v", what, state, err)
		}
	}
	_, err = atomicfile.Sweep(t.Context(), st.dir, atomicfile.SweepOptions{})
	must(t, err)
	only(t, st.dir, "file")
	// Whatever the result, the next change succeeds.
	if _, err := header.Insert(context.Background(), st.file, []byte("next"), kill); err != nil {
		t.Errorf("%s: the next change: %v", what, err)
	}
}
