package atomicfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
)

// umask is that of the test process.
var umask = func() fs.FileMode {
	m := unix.Umask(0)
	unix.Umask(m)
	return fs.FileMode(m)
}()

// No function replaces a file that is not regular, whatever the options.
func TestRefusesSpecial(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must(t, unix.Mkfifo(path("fifo"), 0o600))
	must(t, os.Mkdir(path("directory"), 0o755))
	socket, err := net.Listen("unix", path("socket"))
	must(t, err)
	defer socket.Close()
	names := []string{"fifo", "directory", "socket"}
	if err := unix.Mknod(path("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err == nil {
		names = append(names, "device")
	}
	for _, name := range names {
		before, err := os.Lstat(path(name))
		must(t, err)
		for _, o := range []atomicfile.Options{{}, kill, {Keep: atomicfile.KeepAll}, {Links: atomicfile.RefuseLinks}, {Links: atomicfile.FollowLinks}, {NoReplace: true}} {
			d, err := atomicfile.OpenDir(dir, o)
			must(t, err)
			b := atomicfile.NewBatch(o)
			ways := map[string]func() error{
				"Create": func() error {
					f, err := atomicfile.Create(path(name), 0o600, o)
					if err != nil {
						return err
					}
					return f.Commit()
				},
				"WriteFile":      func() error { return atomicfile.WriteFile(path(name), nil, 0o600) },
				"WriteFileWith":  func() error { return atomicfile.WriteFileWith(path(name), nil, 0o600, o) },
				"Dir.WriteFile":  func() error { return d.WriteFile(name, nil, 0o600) },
				"Batch.Add":      func() error { return errors.Join(b.Add(path(name), nil, 0o600), b.Commit()) },
				"Symlink":        func() error { return atomicfile.Symlink("x", path(name), o) },
				"Dir.Symlink":    func() error { return d.Symlink("x", name) },
				"through a link": nil,
			}
			if o.Links == atomicfile.FollowLinks {
				os.Remove(path("link"))
				must(t, os.Symlink(name, path("link")))
				ways["through a link"] = func() error { return d.WriteFile("link", nil, 0o600) }
			}
			for way, do := range ways {
				if do == nil {
					continue
				}
				if err := do(); err == nil {
					t.Errorf("%s of a %s, %+v: no error", way, name, o)
				}
				if now, err := os.Lstat(path(name)); err != nil || !os.SameFile(before, now) {
					t.Fatalf("%s with %+v has replaced the %s", way, o, name)
				}
			}
			must(t, d.Close())
		}
	}
	noTemps(t, dir)
}

// Level power needs read permission on the directory, and its error says so.
func TestTellsReadPermission(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o333))
	defer os.Chmod(dir, 0o755)
	try := func() {
		_, err1 := atomicfile.OpenDir(dir, atomicfile.Options{})
		err2 := atomicfile.WriteFile(filepath.Join(dir, "f"), nil, 0o600)
		root, err := os.OpenRoot(dir)
		if err == nil {
			defer root.Close()
			err = atomicfile.WriteFileWith("f", nil, 0o600, atomicfile.Options{Root: root})
		}
		for _, err := range []error{err1, err2, err} {
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "read permission") {
				if !strings.Contains(err.Error(), "open "+dir) { // os.OpenRoot itself
					t.Errorf("%v", err)
				}
			}
		}
		must(t, atomicfile.WriteFileWith(filepath.Join(dir, "f"), []byte("x"), 0o600, kill))
	}
	if os.Geteuid() != 0 {
		try()
		return
	}
	const nobody = 65534
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	filetest.AsNobody(t, try)
}

// Below a Root no function leaves the Root or follows a symlink.
func TestRoot(t *testing.T) {
	outside, top := t.TempDir(), t.TempDir()
	put(t, outside, "f", "outside")
	must(t, os.MkdirAll(filepath.Join(top, "a/b"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(top, "out")))
	must(t, os.Symlink("b", filepath.Join(top, "a/in")))
	must(t, os.Symlink(filepath.Join(outside, "f"), filepath.Join(top, "a/b/link")))
	root, err := os.OpenRoot(top)
	must(t, err)
	defer root.Close()
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		o := atomicfile.Options{Level: level, Root: root}
		must(t, atomicfile.WriteFileWith("a/b/f", []byte("new"), 0o600, o))
		holds(t, filepath.Join(top, "a/b/f"), "new")
		b := atomicfile.NewBatch(o)
		must(t, b.Add("g", []byte("g"), 0o600))
		must(t, b.Add("a/g", []byte("g"), 0o600))
		must(t, b.Commit())
		holds(t, filepath.Join(top, "a/g"), "g")
		must(t, atomicfile.Exchange("a/b/f", "g", o))
		holds(t, filepath.Join(top, "g"), "new")
		must(t, atomicfile.Exchange("a/b/f", "g", o))
		must(t, atomicfile.Symlink(outside, "a/l", o))
		d, err := atomicfile.OpenDir("a/b", o)
		must(t, err)
		must(t, d.WriteFile("h", []byte("h"), 0o600))
		must(t, d.WriteFile("link", []byte("no longer one"), 0o600))
		must(t, d.Close())
		holds(t, filepath.Join(top, "a/b/link"), "no longer one")
		for _, bad := range []string{"out/f", "a/in/f", "a/l/f", "../x", "a/../../x", "a/../x", "/x", filepath.Join(outside, "f"), "", "a/", ".."} {
			_, err1 := atomicfile.Create(bad, 0o600, o)
			b := atomicfile.NewBatch(o)
			err2 := b.Add(bad, nil, 0o600)
			b.Abort()
			for _, err := range []error{err1, err2, atomicfile.WriteFileWith(bad, nil, 0o600, o),
				atomicfile.Exchange(bad, "g", o), atomicfile.Exchange("g", bad, o), atomicfile.Symlink("x", bad, o)} {
				if _, ok := errors.AsType[*fs.PathError](err); !ok {
					t.Errorf("%q: %v", bad, err)
				}
			}
		}
		for _, bad := range []string{"out", "a/in", "..", "/", ""} {
			if _, err := atomicfile.OpenDir(bad, o); err == nil {
				t.Errorf("OpenDir(%q) succeeds", bad)
			}
		}
		o.Links = atomicfile.RefuseLinks
		if err := atomicfile.WriteFileWith("a/l", nil, 0o600, o); !errors.Is(err, syscall.ELOOP) {
			t.Errorf("a link that is to be refused: %v", err)
		}
		o.Links = atomicfile.FollowLinks
		if err := atomicfile.WriteFileWith("a/l", nil, 0o600, o); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("FollowLinks with Root: %v", err)
		}
	}
	holds(t, filepath.Join(outside, "f"), "outside")
	only(t, outside, "f")
}

func TestOneMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	top := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(top, "in/d"), 0o755))
	must(t, os.MkdirAll(filepath.Join(top, "other/d"), 0o755))
	if err := unix.Mount(filepath.Join(top, "other"), filepath.Join(top, "in"), "", unix.MS_BIND, ""); err != nil {
		t.Skip("mount: ", err)
	}
	defer unix.Unmount(filepath.Join(top, "in"), unix.MNT_DETACH)
	root, err := os.OpenRoot(top)
	must(t, err)
	defer root.Close()
	for _, one := range []bool{false, true} {
		o := atomicfile.Options{Level: durability.Kill, Root: root, OneMount: one}
		must(t, atomicfile.WriteFileWith("other/f", nil, 0o600, o))
		for _, name := range []string{"in/f", "in/d/f"} {
			if err := atomicfile.WriteFileWith(name, nil, 0o600, o); errors.Is(err, syscall.EXDEV) != one || !one && err != nil {
				t.Errorf("%s, one mount %v: %v", name, one, err)
			}
		}
	}
}

// While an attacker swaps a directory with a symlink that leads outside, nothing is
// written there.
func TestRootRace(t *testing.T) {
	outside, top := t.TempDir(), t.TempDir()
	put(t, outside, "f", "outside")
	must(t, os.MkdirAll(filepath.Join(top, "a/b"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(top, "a/link")))
	must(t, os.Symlink(filepath.Join(outside, "f"), filepath.Join(top, "a/file")))
	root, err := os.OpenRoot(top)
	must(t, err)
	defer root.Close()
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	a, err := os.Open(filepath.Join(top, "a"))
	must(t, err)
	defer a.Close()
	swaps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(int(a.Fd()), "b", int(a.Fd()), "link", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	o := atomicfile.Options{Level: durability.Kill, Root: root}
	written, refused := 0, 0
	for n := 0; n < 500 || n < 50_000 && (written == 0 || refused == 0); n++ {
		b := atomicfile.NewBatch(o)
		err1 := b.Add("a/b/f", []byte("x"), 0o600)
		for _, err := range []error{err1, b.Commit(), atomicfile.WriteFileWith("a/b/f", []byte("x"), 0o600, o), atomicfile.Symlink("x", "a/b/l", o)} {
			if err != nil {
				refused++
			} else {
				written++
			}
		}
	}
	close(stop)
	swaps.Wait()
	t.Logf("%d written, %d refused", written, refused)
	holds(t, filepath.Join(outside, "f"), "outside")
	only(t, outside, "f")
	if written == 0 || refused == 0 {
		t.Skip("no call met the swap")
	}
}

// In a directory like /tmp a symlink is followed only if it belongs to the caller or to
// the directory's owner, whatever fs.protected_symlinks is, also while a stranger swaps
// it with another file.
func TestProtectedSymlinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a symlink away needs root")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	must(t, os.WriteFile(target, []byte("old"), 0o600))
	must(t, os.Symlink("target", link))
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	must(t, os.Lchown(link, 65534, 65534))
	f, err := atomicfile.Create(link, 0o600, atomicfile.Options{Level: durability.Kill, Links: atomicfile.FollowLinks})
	if err == nil {
		f.Abort()
	}
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "old" {
		t.Errorf("the target now has %q, %v", b, err)
	}
}

// On a mount with nosymfollow no symlink is followed.
func TestNoSymFollow(t *testing.T) {
	dir := filetest.Tmpfs(t, unix.MS_NOSYMFOLLOW, "size=1m")
	link := filepath.Join(dir, "link")
	must(t, os.WriteFile(filepath.Join(dir, "target"), []byte("old"), 0o600))
	must(t, os.Symlink("target", link))
	f, err := atomicfile.Create(link, 0o600, atomicfile.Options{Level: durability.Kill, Links: atomicfile.FollowLinks})
	if err == nil {
		f.Abort()
	}
	if !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%v", err)
	}
}
