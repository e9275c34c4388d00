package atomicfile_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/tracetest"
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
	if name, root := tracetest.Scenario(); name != "" {
		os.Exit(runScenario(name, root))
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) int {
	all := slices.Concat(scenarios, faultScenarios, copyScenarios)
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	atomicfile.TempName() // asks once who this process is
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
	"renameat,renameat2,linkat,unlinkat,close,readlinkat,flistxattr,llistxattr,fgetxattr,lgetxattr,fsetxattr,fremovexattr"

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
		{Find: regexp.MustCompile(`\{st_mode.*\}|0x[0-9a-f]+`), By: "{...}"},
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
			if n := len(tr.Calls()); s.calls != 0 && n != s.calls {
				t.Errorf("%d calls, want %d", n, s.calls)
			}
			tracetest.Golden(t, s.name, tr.Normal(root, rules...), *update)
		})
	}
}
