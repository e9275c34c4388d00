package newfile_test

import (
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

// openAt opens a Dir for as long as the test runs.
func openAt(t testing.TB, dir string, o newfile.Options) *newfile.Dir {
	t.Helper()
	d, err := newfile.OpenDir(dir, o)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// open opens a Dir in a folder of its own.
func open(t testing.TB, o newfile.Options) (*newfile.Dir, string) {
	t.Helper()
	dir := t.TempDir()
	return openAt(t, dir, o), dir
}
