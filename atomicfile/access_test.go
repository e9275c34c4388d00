package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/wine"
)

// A File is read and written like an os.File.
func TestAccess(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	f, err := atomicfile.Create(path, 0o600, kill)
	must(t, err)
	defer f.Abort()
	if f.Name() != path || filepath.Dir(f.TempName()) != dir {
		t.Errorf("named %q, meanwhile %q", f.Name(), f.TempName())
	}
	_, err = f.Write([]byte("0123456789"))
	must(t, err)
	n, err := f.WriteAt([]byte("ab"), 3)
	if n != 2 || err != nil {
		t.Errorf("WriteAt: %d, %v", n, err)
	}
	if off, err := f.Seek(-2, io.SeekEnd); off != 8 || err != nil {
		t.Errorf("Seek: %d, %v", off, err)
	}
	_, err = f.Write([]byte("yz!"))
	must(t, err)
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, 2); n != 4 || err != nil || string(b) != "2ab5" {
		t.Errorf("ReadAt: %q, %v", b[:n], err)
	}
	if n, err := f.ReadAt(b, 9); n != 2 || err != io.EOF {
		t.Errorf("ReadAt at the end: %d, %v", n, err)
	}
	if n, err := f.Read(b); n != 0 || err != io.EOF {
		t.Errorf("Read at the end: %d, %v", n, err)
	}
	must(t, f.Truncate(10))
	fi, err := f.Stat()
	must(t, err)
	if fi.Size() != 10 || fi.Name() != "f" || !fi.Mode().IsRegular() || fi.ModTime().IsZero() {
		t.Errorf("Stat: %v, %d bytes, %v", fi.Name(), fi.Size(), fi.Mode())
	}
	_, err = f.Seek(0, io.SeekStart)
	must(t, err)
	if all, err := io.ReadAll(f); string(all) != "012ab567yz" || err != nil {
		t.Errorf("Read: %q, %v", all, err)
	}
	// A wrong argument does not end the File.
	_, err1 := f.Seek(-1, io.SeekStart)
	_, err2 := f.ReadAt(b, -1)
	_, err3 := f.WriteAt(b, -1)
	for _, err := range []error{err1, err2, err3} {
		if pe, ok := errors.AsType[*fs.PathError](err); !ok || pe.Path != path {
			t.Errorf("a negative offset: %v", err)
		}
	}
	holds(t, path, "old")
	must(t, f.Commit())
	holds(t, path, "012ab567yz")
	ended(t, f, fs.ErrClosed)

	f, err = atomicfile.Create(path, 0o600, kill)
	must(t, err)
	f.Abort()
	ended(t, f, fs.ErrClosed)
	ended(t, new(atomicfile.File), fs.ErrInvalid)
	holds(t, path, "012ab567yz")
	only(t, dir, "f")
}

// ended checks that every method fails.
func ended(t *testing.T, f *atomicfile.File, want error) {
	t.Helper()
	b := make([]byte, 1)
	_, err1 := f.Write(b)
	_, err2 := f.WriteAt(b, 0)
	_, err3 := f.Read(b)
	_, err4 := f.ReadAt(b, 0)
	_, err5 := f.Seek(0, io.SeekStart)
	_, err6 := f.Stat()
	_, err7 := f.ReadFrom(new(os.File))
	_, err8 := f.SyscallConn()
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, f.Truncate(0), f.Chmod(0), f.Chown(0, 0), f.Commit()} {
		if !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
	f.Abort()
}

// Zero values do nothing, and close no descriptor of others.
func TestZeroValues(t *testing.T) {
	first, err := os.Stdin.Stat()
	must(t, err)
	var d atomicfile.Dir
	_, err1 := d.Create("f", 0o600)
	var b atomicfile.Batch
	var c atomicfile.Content
	_, err2 := c.Write(nil)
	_, err3 := c.SyscallConn()
	ofDir := d.Batch()
	add := func(b *atomicfile.Batch) error {
		return b.AddFunc("f", 0o600, func(*atomicfile.Content) error { t.Error("called"); return nil })
	}
	for i, err := range []error{err1, err2, err3, d.WriteFile("f", nil, 0), d.Symlink("a", "b"), d.Exchange("a", "b"), ofDir.Add("f", nil, 0), add(ofDir),
		b.Add("f", nil, 0), add(&b), b.Commit(), d.Close()} {
		if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	b.Abort()
	ofDir.Abort()
	ended(t, new(atomicfile.File), fs.ErrInvalid)
	if now, err := os.Stdin.Stat(); err != nil || !os.SameFile(first, now) {
		t.Errorf("standard input is another: %v", err)
	}
}

// The mode that Commit gives the file, by perm, umask, old file and Chmod.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, c := range []struct {
		old   fs.FileMode // 0: no file
		o     atomicfile.Options
		perm  fs.FileMode
		chmod fs.FileMode // 0: not called
		want  fs.FileMode
	}{
		{o: atomicfile.Options{}, perm: 0o666, want: 0o666 &^ umask},
		{o: atomicfile.Options{ExactMode: true}, perm: 0o666, want: 0o666},
		{o: atomicfile.Options{ExactMode: true}, perm: 0o777 | fs.ModeSetgid, want: 0o777 | fs.ModeSetgid},
		{o: atomicfile.Options{ExactMode: true, Keep: atomicfile.KeepMode}, perm: 0o666, want: 0o666},
		{old: 0o640, o: atomicfile.Options{ExactMode: true}, perm: 0o666, want: 0o640},
		{old: 0o640, o: atomicfile.Options{ExactMode: true, Keep: atomicfile.KeepNothing}, perm: 0o666, want: 0o666},
		{old: 0o640, o: atomicfile.Options{ExactMode: true, Keep: atomicfile.KeepMode}, perm: 0o666, want: 0o640},
		{old: 0o640, o: atomicfile.Options{}, perm: 0o600, chmod: 0o622, want: 0o622},
		{old: 0o640, o: atomicfile.Options{Keep: atomicfile.KeepMode}, perm: 0o600, chmod: 0o755 | fs.ModeSetuid, want: 0o755 | fs.ModeSetuid},
	} {
		os.Remove(path)
		if c.old != 0 {
			put(t, dir, "f", "old")
			must(t, os.Chmod(path, c.old))
		}
		c.o.Level = durability.Kill
		d, err := atomicfile.OpenDir(dir, c.o)
		must(t, err)
		f, err := d.Create("f", c.perm)
		must(t, err)
		if c.chmod != 0 {
			must(t, f.Chmod(c.chmod))
		}
		_, err = f.Write([]byte("new"))
		must(t, err)
		must(t, f.Commit())
		must(t, d.Close())
		fi, err := os.Stat(path)
		must(t, err)
		if fi.Mode() != c.want {
			t.Errorf("%+v: mode %v, want %v", c, fi.Mode(), c.want)
		}
	}
}

func TestSymlink(t *testing.T) {
	if wine.Running() {
		t.Skip("Wine makes no symlink to a missing file, and does not tell a symlink from its target")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	if err := os.Symlink("x", path); err != nil {
		t.Skip(err)
	}
	put(t, dir, "f", "content")
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	target := func(name, want string) {
		t.Helper()
		if got, err := os.Readlink(filepath.Join(dir, name)); got != want || err != nil {
			t.Errorf("%s leads to %q, %v; want %q", name, got, err, want)
		}
	}
	for _, o := range []atomicfile.Options{{}, kill} {
		must(t, atomicfile.Symlink("first", path, o))
		target("l", "first")
		must(t, atomicfile.Symlink("/nowhere/second", path, o))
		target("l", filepath.FromSlash("/nowhere/second"))
	}
	must(t, atomicfile.Symlink("a", filepath.Join(dir, "f"), kill))
	target("f", "a")
	d, err := atomicfile.OpenDir(dir, atomicfile.Options{Level: durability.Kill, NoReplace: true})
	must(t, err)
	defer d.Close()
	must(t, d.Symlink("b", "new"))
	target("new", "b")
	for _, c := range []struct {
		err  error
		want error
	}{
		{d.Symlink("c", "new"), fs.ErrExist},
		{d.Symlink("c", "x/y"), fs.ErrInvalid},
		{atomicfile.Symlink("c", path, atomicfile.Options{Links: atomicfile.RefuseLinks}), nil},
		{atomicfile.Symlink("c", filepath.Join(dir, "d"), kill), nil},
		{atomicfile.Symlink("", path, kill), nil},
		{atomicfile.Symlink("c", filepath.Join(dir, "no/l"), kill), fs.ErrNotExist},
		{atomicfile.Symlink("c", path, atomicfile.Options{Level: durability.None}), fs.ErrInvalid},
	} {
		if _, ok := errors.AsType[*fs.PathError](c.err); !ok || c.want != nil && !errors.Is(c.err, c.want) {
			t.Errorf("%v, want %v", c.err, c.want)
		}
	}
	target("new", "b")
	only(t, dir, "l", "f", "d", "new")
}

// stuck is a reader that always returns 0 bytes.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestNoProgress(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "f", "old")
	f, err := atomicfile.Create(path, 0o600, kill)
	must(t, err)
	defer f.Abort()
	if _, err := f.ReadFrom(stuck{}); err != io.ErrNoProgress {
		t.Errorf("ReadFrom: %v", err)
	}
	if err := f.Commit(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Commit: %v", err)
	}
	holds(t, path, "old")
	only(t, dir, "f")
}
