package newfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stele-go/stele/newfile"
)

// errNoSpace has this name on every system that is tested.
const errNoSpace = syscall.ENOSPC

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// belowRoot stands for a Root that openAt opens: at the parent directory, or with
// OneMount at the directory itself.
var belowRoot = new(os.Root)

// openAt opens a Dir for as long as the test runs.
func openAt(t testing.TB, dir string, o newfile.Options) *newfile.Dir {
	t.Helper()
	if o.Root == belowRoot {
		top := filepath.Dir(dir)
		if o.OneMount {
			top = dir
		}
		r, err := os.OpenRoot(top)
		must(t, err)
		defer r.Close() // the Dir does not need it
		o.Root = r
		dir, err = filepath.Rel(top, dir)
		must(t, err)
	}
	d, err := newfile.OpenDir(dir, o)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// open opens a Dir in a directory of its own.
func open(t testing.TB, o newfile.Options) (*newfile.Dir, string) {
	t.Helper()
	dir := t.TempDir()
	return openAt(t, dir, o), dir
}
