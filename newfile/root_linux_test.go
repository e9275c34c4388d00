package newfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/newfile"
)

// ways create the file name, by each function that can.
func ways(t *testing.T, d *newfile.Dir) map[string]func(name string) error {
	give := func(give func(*newfile.File, string) error) func(string) error {
		return func(name string) error {
			f, err := newfile.Anonymous(d, 0o600)
			if err != nil {
				return err
			}
			return errors.Join(give(f, name), f.Close())
		}
	}
	q, err := newfile.NewQueue(d, newfile.QueueOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, q.Close()) })
	return map[string]func(string) error{
		"Create":  func(name string) error { return closed(d.Create(name, 0o600)) },
		"Touch":   func(name string) error { return d.Touch(name, 0o600) },
		"Publish": give((*newfile.File).Publish),
		"Replace": give((*newfile.File).Replace),
		"Queue":   func(name string) error { return closed(q.Create(t.Context(), name)) },
		"Batch": func(name string) error {
			_, err := d.Batch(t.Context(), slices.Values([]string{name}), 0o600, nil)
			return err
		},
	}
}

// A file in the place of a sub-directory is refused, whatever it is.
func TestRootRefusesWhatIsNoDirectory(t *testing.T) {
	outside := t.TempDir()
	must(t, os.Mkdir(filepath.Join(outside, "in"), 0o755))
	plants := map[string]func(name string) error{
		"symlink":          func(name string) error { return os.Symlink(outside, name) },
		"relative symlink": func(name string) error { return os.Symlink("../"+filepath.Base(outside), name) },
		"symlink inside":   func(name string) error { return os.Symlink(".", name) },
		"dangling symlink": func(name string) error { return os.Symlink("nowhere", name) },
		"magic link":       func(name string) error { return os.Symlink("/proc/self/cwd", name) },
		"fifo":             func(name string) error { return unix.Mkfifo(name, 0o600) },
		"file":             func(name string) error { return os.WriteFile(name, nil, 0o600) },
	}
	for plant, make := range plants {
		levels(t, func(t *testing.T, l durability.Level) {
			for _, hidden := range []bool{false, true} {
				d, dir := open(t, newfile.Options{Level: l, Shards: 16, Root: belowRoot})
				if hidden {
					newfile.WithoutUnnamed(d)
				}
				must(t, make(filepath.Dir(d.Path("f"))))
				for way, f := range ways(t, d) {
					err := f("f")
					if !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR) {
						t.Errorf("%s in the place of a sub-directory, %s: %v", plant, way, err)
					}
				}
				if n := countFiles(t, dir); n > 1 {
					t.Errorf("%s: %d files are left", plant, n)
				}
			}
		})
	}
	if n := countFiles(t, outside); n != 0 {
		t.Errorf("%d files outside", n)
	}
}

// A file that is a symlink is not followed, nor is the directory itself.
func TestRootRefusesSymlinks(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "target")
	must(t, os.WriteFile(target, []byte("old"), 0o600))
	for _, existing := range []newfile.Existing{newfile.Refuse, newfile.Truncate, newfile.Reuse} {
		d, dir := open(t, newfile.Options{Level: durability.Kill, Existing: existing, Root: belowRoot})
		must(t, os.Symlink(target, filepath.Join(dir, "f")))
		for way, f := range ways(t, d) {
			if err := f("f"); way != "Replace" && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, fs.ErrExist) {
				t.Errorf("Existing %d, %s: %v", existing, way, err)
			} else if way == "Replace" {
				must(t, err)
				must(t, os.Remove(filepath.Join(dir, "f")))
				must(t, os.Symlink(target, filepath.Join(dir, "f")))
			}
		}
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "old" {
		t.Errorf("the target holds %q, %v", b, err)
	}
	top := t.TempDir()
	must(t, os.Mkdir(filepath.Join(top, "d"), 0o755))
	must(t, os.Symlink("d", filepath.Join(top, "link")))
	r, err := os.OpenRoot(top)
	must(t, err)
	defer r.Close()
	_, err = newfile.OpenDir("link", newfile.Options{Level: durability.Kill, Root: r})
	wantErr(t, err, syscall.ELOOP, "link")
}

// An attacker swaps sub-directories with symlinks that lead outside, and back, as
// fast as it can, while files are created in all ways.
func TestRootAgainstSwaps(t *testing.T) {
	const wanted = 10_000
	outside := t.TempDir()
	d, dir := open(t, newfile.Options{Level: durability.Kill, Shards: 16, Root: belowRoot})
	for i := range 16 {
		shard := fmt.Sprintf("%x", i)
		must(t, os.Mkdir(filepath.Join(dir, shard), 0o755))
		must(t, os.Mkdir(filepath.Join(outside, shard), 0o755))
		must(t, os.Symlink(filepath.Join(outside, shard), filepath.Join(dir, "link"+shard)))
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	if err := unix.Renameat2(fd, "0", fd, "link0", unix.RENAME_EXCHANGE); err != nil {
		t.Skip("this file system cannot exchange names: ", err)
	}
	var wg sync.WaitGroup
	var over atomic.Bool
	wg.Go(func() {
		defer over.Store(true)
		for i := range wanted {
			shard := fmt.Sprintf("%x", i%16)
			if err := unix.Renameat2(fd, shard, fd, "link"+shard, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
			}
		}
	})
	done, refused := 0, 0
	all := ways(t, d)
	for i := 0; !over.Load(); i++ {
		for way, f := range all {
			switch err := f(fmt.Sprint(way, i)); {
			case err == nil:
				done++
			case errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist):
				refused++
			default:
				t.Error(err)
			}
		}
	}
	wg.Wait()
	t.Logf("%d swaps; %d files made, %d refused", wanted, done, refused)
	if n := countFiles(t, outside); n != 0 {
		t.Errorf("%d files outside", n)
	}
}

// A mount point in the place of a sub-directory is refused, a bind mount of the same
// file system too.
func TestRootOneMount(t *testing.T) {
	dir := filetest.Tmpfs(t, 0, "size=1m")
	for _, p := range []string{"d", "elsewhere"} {
		must(t, os.Mkdir(filepath.Join(dir, p), 0o755))
	}
	for _, source := range []string{filepath.Join(dir, "elsewhere"), t.TempDir()} {
		o := newfile.Options{Level: durability.Kill, Shards: 16, Root: belowRoot, OneMount: true}
		d := openAt(t, filepath.Join(dir, "d"), o)
		shard := filepath.Dir(d.Path("f"))
		if err := os.Mkdir(shard, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		if err := syscall.Mount(source, shard, "", syscall.MS_BIND, ""); err != nil {
			t.Skip("cannot bind: ", err)
		}
		for way, f := range ways(t, d) {
			if err := f("f"); !errors.Is(err, syscall.EXDEV) {
				t.Errorf("%s: %v, want EXDEV", way, err)
			}
		}
		o.OneMount = false
		d = openAt(t, filepath.Join(dir, "d"), o)
		must(t, d.Touch("f", 0o600))
		must(t, syscall.Unmount(shard, syscall.MNT_DETACH))
		must(t, os.Remove(filepath.Join(source, "f")))
	}
	r, err := os.OpenRoot(filepath.Dir(dir))
	must(t, err)
	defer r.Close()
	_, err = newfile.OpenDir(filepath.Base(dir), newfile.Options{Level: durability.Kill, Root: r, OneMount: true})
	wantErr(t, err, syscall.EXDEV, filepath.Base(dir))
}
