package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/durability"
)

// Group bits that were an ACL's mask are not given to the group if the ACL is removed,
// or another file takes the name, between reading the mode and reading the ACL.
func TestChangedBetweenModeAndACL(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	o := Options{Level: durability.Kill, Keep: KeepACL}
	write := func(mode fs.FileMode) {
		if err := errors.Join(os.WriteFile(name, nil, mode), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, now := range []fs.FileMode{0o600, 0o640} {
		write(0o660)
		at, err := openDirectory(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		old, err := at.dir.Info("f")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		write(now)
		f := &File{o: o, at: at, base: "f"}
		perm, err := f.inspectOld(old, 0o666)
		if err != nil || f.oldInfo.Mode != now || perm&0o77 != 0 {
			t.Errorf("%v and then %v: mode %v is kept, created with %v, %v", old.Mode, now, f.oldInfo.Mode, perm, err)
		}
		at.release()
	}
}

// A file that was removed has no attributes to keep.
func TestKeepXattrsOfNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(name, 0o666, Options{Level: durability.Kill, Keep: KeepAll})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(name), f.Commit()); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Mode() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}
