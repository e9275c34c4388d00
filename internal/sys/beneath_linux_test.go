package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutOpenat2 runs try as on a kernel that has no openat2(2).
func withoutOpenat2(t *testing.T, try func(*testing.T)) {
	before := noOpenat2.Swap(true)
	defer noOpenat2.Store(before)
	t.Run("without openat2", try)
}

// A bind mount of the same file system has the same device number: only its mount ID
// differs.
func TestBeneathOneMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	top := t.TempDir()
	for _, dir := range []string{"a/bound/sub", "a/tmp", "a/plain/sub", "b/sub"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b/f", "a/plain/f", "a/file"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mount := func(source, target, kind string, flags uintptr) {
		target = filepath.Join(top, target)
		if err := unix.Mount(source, target, kind, flags, ""); err != nil {
			t.Skip("mount: ", err)
		}
		t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
	}
	mount(filepath.Join(top, "b"), "a/bound", "", unix.MS_BIND)
	mount("none", "a/tmp", "tmpfs", 0)
	mount(filepath.Join(top, "b/f"), "a/file", "", unix.MS_BIND)
	d, err := OpenDir(filepath.Join(top, "a"), ForPath)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	try := func(t *testing.T) {
		for p, crosses := range map[string]bool{"plain": false, "plain/sub": false, ".": false, "bound": true, "bound/sub": true, "tmp": true} {
			for _, one := range []bool{false, true} {
				sub, err := d.OpenBeneath(p, ForPath, one)
				if err == nil {
					sub.Close()
				}
				if want := crosses && one; want != (err == unix.EXDEV) || !want && err != nil {
					t.Errorf("OpenBeneath(%s), one mount %v: %v", p, one, err)
				}
			}
		}
		if f, err := d.OpenFileBeneath("bound/f", "f", os.O_RDWR, 0, true); err != unix.EXDEV {
			f.Close()
			t.Errorf("a file below a mount point: %v", err)
		}
		// A refused file is not changed.
		for _, p := range []string{"bound/f", "bound/new", "file"} {
			if f, err := d.OpenFileBeneath(p, p, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600, true); err != unix.EXDEV {
				f.Close()
				t.Errorf("%s, to be made or truncated: %v", p, err)
			}
		}
		if b, err := os.ReadFile(filepath.Join(top, "b/f")); err != nil || string(b) != "text" {
			t.Errorf("the file below the mount point has %q, %v", b, err)
		}
		if _, err := os.Lstat(filepath.Join(top, "b/new")); err == nil {
			t.Error("a file was created below the mount point")
		}
		for _, p := range []string{"plain/f", "plain/new"} {
			f, err := d.OpenFileBeneath(p, p, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600, true)
			if err != nil {
				t.Fatal(err)
			}
			if fi, err := f.Stat(); err != nil || fi.Size() != 0 {
				t.Errorf("%s was not truncated: %v, %v", p, fi, err)
			}
			f.Close()
		}
	}
	t.Run("", try)
	withoutOpenat2(t, try)
}

// EPERM may come from the file, not only from a filter that refuses openat2.
func TestBeneathRefusedByTheFile(t *testing.T) {
	d, name := openDir(t, ForPath)
	path := filepath.Join(name, "f")
	if err := os.WriteFile(path, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const immutable = 0x10 // FS_IMMUTABLE_FL
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skip("no immutable file can be made here: ", err)
	}
	defer unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	before := noOpenat2.Load()
	if g, err := d.OpenFileBeneath("f", "f", os.O_RDWR, 0, false); err != unix.EPERM {
		g.Close()
		t.Errorf("opened an immutable file for writing: %v", err)
	}
	if noOpenat2.Load() != before {
		t.Error("took the file's refusal for a kernel without openat2")
	}
}

// openat2 ends with EXDEV if what it found is moved out of the directory before its
// last check; without OneMount that is no answer of ours.
func TestBeneathMovedOutMeanwhile(t *testing.T) {
	d, name := openDir(t, ForPath)
	inside, outside := filepath.Join(name, "a/b"), filepath.Join(t.TempDir(), "b")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := errors.Join(os.Rename(inside, outside), os.Rename(outside, inside)); err != nil {
				stopped <- err
				return
			}
		}
	}()
	errs := map[error]int{}
	for range 50_000 {
		sub, err := d.OpenBeneath("a/b", ForPath, false)
		if err == nil {
			sub.Close()
		}
		errs[err]++
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	delete(errs, nil)
	delete(errs, unix.ENOENT)
	if len(errs) > 0 {
		t.Errorf("want a directory or ENOENT, got also %v", errs)
	}
}
