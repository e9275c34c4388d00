package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/newfile"
)

// A maker makes a new file or directory, or replaces a file, with the permissions that its
// caller gives.
type maker struct {
	name string
	dir  bool // makes a directory, as os.Mkdir does
	over bool // in the place of a file that only its owner may read
	run  func(in, name string, perm fs.FileMode) error
}

var makers = []maker{
	{name: "newfile.Create", run: inNewfile(func(d *newfile.Dir, name string, perm fs.FileMode) error {
		f, err := d.Create(name, perm)
		if err != nil {
			return err
		}
		return f.Close()
	})},
	{name: "newfile.Touch", run: inNewfile((*newfile.Dir).Touch)},
	{name: "Anonymous and Publish", run: inNewfile(func(d *newfile.Dir, name string, perm fs.FileMode) error {
		f, err := newfile.Anonymous(d, perm)
		if err != nil {
			return err
		}
		return errors.Join(f.Publish(name), f.Close())
	})},
	{name: "Anonymous and Replace", over: true, run: inNewfile(func(d *newfile.Dir, name string, perm fs.FileMode) error {
		f, err := newfile.Anonymous(d, perm)
		if err != nil {
			return err
		}
		return errors.Join(f.Replace(name), f.Close())
	})},
	{name: "atomicfile.WriteFile", run: func(in, name string, perm fs.FileMode) error {
		return atomicfile.WriteFile(filepath.Join(in, name), content, perm)
	}},
	{name: "atomicfile.Create", run: func(in, name string, perm fs.FileMode) error {
		f, err := atomicfile.Create(filepath.Join(in, name), perm, atomicfile.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		return f.Commit()
	}},
	{name: "atomicfile with KeepNothing", over: true, run: func(in, name string, perm fs.FileMode) error {
		o := atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepNothing}
		f, err := atomicfile.Create(filepath.Join(in, name), perm, o)
		if err != nil {
			return err
		}
		return f.Commit()
	}},
	{name: "mkdir.All", dir: true, run: func(in, name string, perm fs.FileMode) error {
		return mkdir.All(filepath.Join(in, name), perm)
	}},
	{name: "mkdir.Maker", dir: true, run: func(in, name string, perm fs.FileMode) error {
		m, err := mkdir.OpenRoot(in, mkdir.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		return errors.Join(m.All(name, perm), m.Close())
	}},
}

func inNewfile(f func(d *newfile.Dir, name string, perm fs.FileMode) error) func(in, name string, perm fs.FileMode) error {
	return func(in, name string, perm fs.FileMode) error {
		d, err := newfile.OpenDir(in, newfile.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		return errors.Join(f(d, name, perm), d.Close())
	}
}

// A new file or directory has the permissions and the ACL that package os gives it, by the
// umask or by the directory's default ACL.
func TestCreated(t *testing.T) {
	onFilesystems(t, func(t *testing.T, top string) {
		for i, inherit := range defaultACLs {
			in := filepath.Join(top, fmt.Sprint("created", i))
			must(t, os.Mkdir(in, 0o755))
			if inherit != "" {
				if err := unix.Setxattr(in, defaultACL, encodeACL(inherit), 0); err != nil {
					t.Log("no ACLs here: ", err)
					continue
				}
			}
			for _, perm := range []fs.FileMode{0o600, 0o640, 0o666, 0o777} {
				for _, umask := range []int{0, 0o022, 0o077} {
					for _, m := range makers {
						m.compare(t, in, perm, umask)
					}
				}
			}
		}
	})
}

func (m maker) compare(t *testing.T, in string, perm fs.FileMode, umask int) {
	t.Helper()
	d, err := os.Open(in)
	must(t, err)
	defer d.Close()
	if m.over {
		must(t, os.WriteFile(filepath.Join(in, "new"), nil, 0o600))
		must(t, os.Chmod(filepath.Join(in, "new"), 0o600))
	}
	old := syscall.Umask(umask)
	err = m.run(in, "new", perm)
	var model error
	if m.dir {
		model = os.Mkdir(filepath.Join(in, "model"), perm)
	} else {
		model = os.WriteFile(filepath.Join(in, "model"), nil, perm)
	}
	syscall.Umask(old)
	must(t, errors.Join(err, model))
	got, err1 := stateOf(int(d.Fd()), "new")
	want, err2 := stateOf(int(d.Fd()), "model")
	must(t, errors.Join(err1, err2))
	if got != want {
		t.Errorf("%s with %v, umask %03o: %s, want %s", m.name, perm, umask, got, want)
	}
	must(t, errors.Join(os.Remove(filepath.Join(in, "new")), os.Remove(filepath.Join(in, "model"))))
}
