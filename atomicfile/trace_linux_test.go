package atomicfile_test

import (
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
	"github.com/stele-go/stele/lab/place"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario is what runs under strace, in a folder that holds the file
// "file", with "old" in it. Only the calls of what prepare returns are
// recorded. It gives "file" the content "new".
type scenario struct {
	name    string
	prepare func(dir string) (run func() error, err error)
	ordered bool // needs a file system that orders data

	// The number of calls, beside the golden file, which an update
	// overwrites.
	calls int
}

func byName(o atomicfile.Options) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		return func() error {
			f, err := atomicfile.Create(filepath.Join(dir, "file"), 0o644, o)
			if err != nil {
				return err
			}
			defer f.Abort()
			if _, err := f.Write([]byte("new")); err != nil {
				return err
			}
			return f.Commit()
		}, nil
	}
}

func held(o atomicfile.Options) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		d, err := atomicfile.OpenDir(dir, o)
		return func() error { return d.WriteFile("file", []byte("new"), 0o644) }, err
	}
}

func heldBatch(o atomicfile.Options) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		d, err := atomicfile.OpenDir(dir, o)
		return func() error {
			b := d.Batch()
			defer b.Abort()
			for _, name := range []string{"file", "file2", "file3"} {
				if err := b.Add(name, []byte("new"), 0o644); err != nil {
					return err
				}
			}
			return b.Commit()
		}, err
	}
}

func writeFile(name string) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
			return nil, err
		}
		return func() error { return atomicfile.WriteFile(filepath.Join(dir, name), []byte("new"), 0o644) }, nil
	}
}

var scenarios = []scenario{
	{name: "writefile", prepare: writeFile("file"), calls: 10},
	{name: "writefile-new", prepare: func(dir string) (func() error, error) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			return nil, err
		}
		return writeFile("file")(dir)
	}, calls: 9},
	{name: "writefile-link", prepare: writeFile("link"), calls: 12},
	{name: "create", prepare: byName(syncEach), calls: 8},
	{name: "create-keep", prepare: byName(atomicfile.Options{Keep: atomicfile.KeepAll})},
	{name: "create-kill", prepare: byName(kill), calls: 6},
	{name: "dir", prepare: held(syncEach), calls: 6},
	{name: "dir-ordered", prepare: held(atomicfile.Options{}), ordered: true, calls: 6},
	{name: "dir-kill", prepare: held(kill), calls: 4},
	{name: "dir-new", prepare: func(dir string) (func() error, error) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			return nil, err
		}
		return held(atomicfile.Options{Sync: atomicfile.SyncEach, NoReplace: true})(dir)
	}, calls: 6},
	{name: "batch", prepare: heldBatch(syncEach), calls: 3*6 + 1},
	{name: "batch-ordered", prepare: heldBatch(atomicfile.Options{}), ordered: true, calls: 3*6 + 1},
	{name: "batch-syncfs", prepare: heldBatch(syncWhole), calls: 3*5 + 2},
	{name: "batch-kill", prepare: heldBatch(kill), calls: 3 * 4},
	{name: "exchange", prepare: func(dir string) (func() error, error) {
		d, err := atomicfile.OpenDir(dir, atomicfile.Options{})
		if err != nil {
			return nil, err
		}
		return func() error { return d.Exchange("file", "other") }, os.WriteFile(filepath.Join(dir, "other"), []byte("new"), 0o644)
	}, calls: 2},
}

const traceEnv = "STELE_TRACE_SCENARIO"

// init keeps TestMain on the first thread, the only one that strace follows
// without -f: so no call of the runtime's other threads gets in between.
func init() {
	if os.Getenv(traceEnv) != "" {
		runtime.LockOSThread()
	}
}

// How a traced process ends.
const (
	exitOK = iota
	exitBroken
	exitFailed     // with the old content, it says
	exitNotDurable // with the new
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(sweepEnv); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(exitBroken)
	}
	if name := os.Getenv(traceEnv); name != "" {
		os.Exit(runScenario(name, os.Getenv(traceEnv+"_ROOT")))
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) int {
	all := slices.Concat(scenarios, faultScenarios)
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	atomicfile.TempName() // asks once who this process is
	run, err := all[i].prepare(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitBroken
	}
	if os.Getenv(traceEnv+"_LIMIT") != "" {
		if err := limitFileSize(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitBroken
		}
	}
	mark("begin")
	err = run()
	mark("end")
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, atomicfile.ErrNotDurable):
		fmt.Println(err)
		return exitNotDurable
	}
	fmt.Println(err)
	return exitFailed
}

// mark makes a call that nothing else makes, to be found in the trace.
func mark(what string) { unix.Faccessat(unix.AT_FDCWD, "/stele-trace-"+what, 0, 0) }

const traced = "openat,newfstatat,fstat,write,fsync,fdatasync,sync_file_range,syncfs,fchmod,fchown,renameat,renameat2,linkat,unlinkat,close," +
	"readlinkat,flistxattr,fgetxattr,fsetxattr,fremovexattr,faccessat,faccessat2"

// trace runs a scenario under strace and returns the trace, what the process
// printed and how it ended.
func trace(t *testing.T, s scenario, root string, env []string, options ...string) (raw, said string, exit int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	out := filepath.Join(t.TempDir(), "strace")
	args := append([]string{"-y", "-e", "signal=none", "-e", "trace=" + traced, "-o", out}, options...)
	cmd := exec.Command("strace", append(args, self)...)
	cmd.Env = append(os.Environ(), traceEnv+"="+s.name, traceEnv+"_ROOT="+root, "GOCOVERDIR="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	msg, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == exitBroken || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%v: %s", err, msg)
	}
	b, err := os.ReadFile(out)
	must(t, err)
	return string(b), string(msg), cmd.ProcessState.ExitCode()
}

func needStrace(t *testing.T) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-y", "-e", "trace="+traced, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v: %s", err, out)
	}
}

// newRoot returns a folder for the scenario.
func newRoot(t *testing.T, top string) string {
	t.Helper()
	root, err := os.MkdirTemp(top, "root")
	must(t, err)
	put(t, root, "file", "old")
	return root
}

// topOf returns the folder in which a scenario has its roots: for those that
// need it, on a file system that orders data before names, if need be an
// image.
func topOf(t *testing.T, s scenario) string {
	t.Helper()
	top := t.TempDir()
	if !s.ordered || ordered(t, top) {
		return top
	}
	image, err := place.Image(t.Context(), place.Options{FS: "ext4", Size: 64 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip("needs an ext4 with a journal, or an XFS: ", err)
	}
	t.Cleanup(func() { image.Close() })
	if !ordered(t, image.Path) {
		t.Error("a new ext4 is not known to order data before names")
	}
	return image.Path
}

func ordered(t *testing.T, dir string) bool {
	t.Helper()
	d, err := atomicfile.OpenDir(dir, atomicfile.Options{})
	must(t, err)
	defer d.Close()
	return d.Ordered()
}

func TestTraces(t *testing.T) {
	needStrace(t)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			root := newRoot(t, topOf(t, s))
			raw, said, exit := trace(t, s, root, nil)
			if exit != exitOK {
				t.Fatal(said)
			}
			holds(t, filepath.Join(root, "file"), "new")
			got := normalise(raw, root)
			if n := strings.Count(got, "\n"); s.calls != 0 && n != s.calls {
				t.Errorf("%d calls, want %d", n, s.calls)
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

var (
	descriptor = regexp.MustCompile(`\b(?:\d+|AT_FDCWD)<([^>]*)>`)
	tempFile   = regexp.MustCompile(`\.stele-[0-9a-z-]+\.tmp`)
	statResult = regexp.MustCompile(`\{st_mode.*\}|0x[0-9a-f]+`)
	message    = regexp.MustCompile(`( \([^()]*\))+$`)
	padding    = regexp.MustCompile(`\)\s+= `)
)

// between returns the lines between the marks.
func between(raw string) []string {
	var lines []string
	for line := range strings.Lines(raw) {
		switch {
		case strings.Contains(line, "/stele-trace-begin"):
			lines = nil
		case strings.Contains(line, "/stele-trace-end"):
			return lines
		default:
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// normalise returns the calls between the marks, with names in place of
// descriptors and temporary names.
func normalise(raw, root string) string {
	var b strings.Builder
	for _, line := range between(raw) {
		line = strings.ReplaceAll(line, root, "ROOT")
		line = tempFile.ReplaceAllString(line, "TEMP")
		line = descriptor.ReplaceAllStringFunc(line, func(d string) string {
			if strings.HasPrefix(d, "AT_FDCWD") {
				return "AT_FDCWD"
			}
			return d[strings.IndexByte(d, '<'):]
		})
		line = statResult.ReplaceAllString(line, "{...}")
		line = padding.ReplaceAllString(line, ") = ")
		line = message.ReplaceAllString(line, "")
		b.WriteString(line + "\n")
	}
	return b.String()
}
