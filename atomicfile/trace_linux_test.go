package atomicfile_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tracetest"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario is what runs under strace, in a directory that holds the file
// "file", with "old" in it. Only the calls of what prepare returns are
// recorded. It gives "file" the content "new".
type scenario struct {
	name    string
	prepare func(dir string) (run func() error, err error)
	ordered bool // needs a file system that orders data

	// The number of calls, beside the golden file, which an update
	// overwrites.
	calls int
	// flushes is how many files are flushed where close(2) may report errors,
	// with two calls each, and a golden file of its own.
	flushes int
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

// private gives access to the old file to its owner alone.
func private(prepare func(string) (func() error, error)) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		if err := os.Chmod(filepath.Join(dir, "file"), 0o600); err != nil {
			return nil, err
		}
		return prepare(dir)
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
	{name: "writefile", prepare: writeFile("file"), calls: 14},
	{name: "writefile-new", prepare: func(dir string) (func() error, error) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			return nil, err
		}
		return writeFile("file")(dir)
	}, calls: 10},
	{name: "writefile-link", prepare: writeFile("link"), calls: 21},
	{name: "create", prepare: byName(syncEach), calls: 15},
	{name: "create-keep", prepare: byName(atomicfile.Options{Keep: atomicfile.KeepAll})},
	{name: "create-kill", prepare: byName(kill), calls: 14, flushes: 1},
	{name: "dir", prepare: held(syncEach), calls: 11},
	{name: "dir-ordered", prepare: held(atomicfile.Options{}), ordered: true, calls: 11},
	{name: "dir-kill", prepare: held(kill), calls: 9, flushes: 1},
	{name: "dir-looked-new", prepare: func(dir string) (func() error, error) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			return nil, err
		}
		return held(syncEach)(dir)
	}, calls: 8},
	{name: "dir-private", prepare: private(held(syncEach)), calls: 8},
	{name: "dir-nothing", prepare: held(atomicfile.Options{Sync: atomicfile.SyncEach, Keep: atomicfile.KeepNothing}), calls: 8},
	{name: "dir-group", prepare: func(dir string) (func() error, error) {
		if err := os.Chmod(filepath.Join(dir, "file"), 0o640); err != nil {
			return nil, err
		}
		return held(syncEach)(dir)
	}, calls: 15},
	{name: "writefile-private", prepare: private(writeFile("file")), calls: 13},
	{name: "dir-new", prepare: func(dir string) (func() error, error) {
		if err := os.Remove(filepath.Join(dir, "file")); err != nil {
			return nil, err
		}
		return held(atomicfile.Options{Sync: atomicfile.SyncEach, NoReplace: true})(dir)
	}, calls: 7},
	{name: "batch", prepare: heldBatch(syncEach), calls: 3*8 + 5 + 1},
	{name: "batch-ordered", prepare: heldBatch(atomicfile.Options{}), ordered: true, calls: 3*8 + 5 + 1},
	{name: "batch-syncfs", prepare: heldBatch(syncWhole), calls: 3*7 + 5 + 2},
	{name: "batch-kill", prepare: heldBatch(kill), calls: 3*6 + 5, flushes: 3},
	{name: "symlink", prepare: func(dir string) (func() error, error) {
		d, err := atomicfile.OpenDir(dir, atomicfile.Options{})
		if err != nil {
			return nil, err
		}
		return func() error { return d.Symlink("other", "file") }, os.WriteFile(filepath.Join(dir, "other"), []byte("new"), 0o644)
	}, calls: 4},
	{name: "exchange", prepare: func(dir string) (func() error, error) {
		d, err := atomicfile.OpenDir(dir, atomicfile.Options{})
		if err != nil {
			return nil, err
		}
		return func() error { return d.Exchange("file", "other") }, os.WriteFile(filepath.Join(dir, "other"), []byte("new"), 0o644)
	}, calls: 2},
}

// How a traced process ends.
const (
	exitOK = iota
	exitBroken
	exitFailed     // with the old content, says its error
	exitNotDurable // with the new
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(sweepEnv); dir != "" {
		if err := sweepProcess(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitBroken)
		}
		os.Exit(exitOK)
	}
	if name, root := tracetest.Scenario(); name != "" {
		os.Exit(runScenario(name, root))
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) int {
	all := slices.Concat(scenarios, faultScenarios, copyScenarios)
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	atomicfile.Warm()
	run, err := all[i].prepare(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitBroken
	}
	if os.Getenv(limitEnv) != "" {
		if err := limitFileSize(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitBroken
		}
	}
	tracetest.Begin()
	err = run()
	tracetest.End()
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

const traced = "openat,newfstatat,fstat,write,copy_file_range,fsync,fdatasync,sync_file_range,syncfs,fchmod,fchown," +
	"renameat,renameat2,linkat,unlinkat,close,readlinkat,flock,fstatfs,fcntl,symlinkat,flistxattr,llistxattr,fgetxattr,lgetxattr,fsetxattr,fremovexattr"

// trace runs a scenario in root, with faults as strace's option inject takes
// them.
func trace(t *testing.T, s scenario, root string, inject ...string) tracetest.Trace {
	t.Helper()
	return do(t, tracetest.Run{Scenario: s.name, Root: root, Calls: traced, Inject: inject})
}

func do(t *testing.T, run tracetest.Run) tracetest.Trace {
	t.Helper()
	tr := run.Do(t)
	if tr.Exit == exitBroken {
		t.Fatal(tr.Said)
	}
	return tr
}

// newRoot returns a directory for the scenario.
func newRoot(t *testing.T, top string) string {
	t.Helper()
	root, err := os.MkdirTemp(top, "root")
	must(t, err)
	put(t, root, "file", "old")
	return root
}

// topOf returns the directory for the roots of a scenario. If the scenario needs it,
// the directory is on a file system that orders data before names, an image if there
// is no other.
func topOf(t *testing.T, s scenario) string {
	t.Helper()
	top := t.TempDir()
	if !s.ordered || ordered(t, top) {
		return top
	}
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 64 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip("needs an ext4 with a journal, or an XFS: ", err)
	}
	t.Cleanup(func() {
		err := image.Close()
		for end := time.Now().Add(2 * time.Minute); errors.Is(err, unix.EBUSY) && time.Now().Before(end); {
			err = image.Close() // a process that is being started has copies of our descriptors
		}
		if err != nil {
			t.Error(err)
		}
	})
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

var (
	tempFile = regexp.MustCompile(`\.stele-[0-9a-z-]+\.tmp`)
	rules    = []tracetest.Rule{
		{Find: tempFile, By: "TEMP"},
		{Find: regexp.MustCompile(`/proc/[0-9]+/task/[0-9]+`), By: "/proc/N/task/N"},
		{Find: regexp.MustCompile(`\{st_mode.*\}|\{f_type.*\}|\b0x[0-9a-f]+`), By: "{...}"},
	}
)

func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			root := newRoot(t, topOf(t, s))
			tr := trace(t, s, root)
			if tr.Exit != exitOK {
				t.Fatal(tr.Said)
			}
			holds(t, filepath.Join(root, "file"), "new")
			name := s.name
			if s.flushes > 0 && !local(t, root) {
				name += "-remote"
				s.calls += 2 * s.flushes
			}
			if n := len(tr.Calls()); s.calls != 0 && n != s.calls {
				t.Errorf("%d calls, want %d", n, s.calls)
			}
			tracetest.Golden(t, name, tr.Normal(root, rules...), *update)
		})
	}
}

func local(t *testing.T, dir string) bool {
	t.Helper()
	d, err := sys.OpenDir(dir, sys.ForPath)
	must(t, err)
	defer d.Close()
	return d.IsLocal()
}

// overlay mounts an overlay, which may report errors of a file only at close.
func overlay(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("to mount needs root")
	}
	top := t.TempDir() // not itself an upper layer where it is on an overlay
	must(t, unix.Mount("none", top, "tmpfs", 0, ""))
	t.Cleanup(func() { unix.Unmount(top, unix.MNT_DETACH) })
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.Mkdir(filepath.Join(top, name), 0o755))
	}
	merged := filepath.Join(top, "merged")
	err := unix.Mount("none", merged, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", top))
	if err != nil {
		t.Skip("mount an overlay: ", err)
	}
	t.Cleanup(func() { unix.Unmount(merged, unix.MNT_DETACH) })
	return merged
}

// Where a file system may report an error at close, a close comes before the rename,
// and the file stays locked.
func TestFlush(t *testing.T) {
	tracetest.Need(t, traced)
	top := overlay(t)
	for _, s := range scenarios {
		if s.flushes == 0 {
			continue
		}
		root := newRoot(t, top)
		tr := trace(t, s, root)
		if tr.Exit != exitOK {
			t.Fatal(tr.Said)
		}
		tracetest.Golden(t, s.name+"-remote", tr.Normal(root, rules...), *update)
		n := 0
		for _, c := range tr.Calls() {
			if c.Name != "close" || !tempFile.MatchString(c.Line) {
				continue
			}
			n++
			root := newRoot(t, top)
			tr := trace(t, s, root, fmt.Sprintf("close:error=EIO:when=%d", c.Nth))
			if tr.Exit != exitFailed || !strings.Contains(tr.Said, "close "+root) {
				t.Errorf("%s: exit %d, %s", c.Line, tr.Exit, tr.Said)
			}
			if n == 1 { // of file
				holds(t, filepath.Join(root, "file"), "old")
			}
			noTemps(t, root)
		}
		if n != s.flushes {
			t.Errorf("%s: %d files flushed, want %d", s.name, n, s.flushes)
		}
	}
}
