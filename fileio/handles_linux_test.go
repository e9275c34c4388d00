package fileio_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/internal/measure/scratch"
)

func TestOpenInOneMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	for _, sub := range []string{"root/plain", "root/bound", "other"} {
		ok(t, os.MkdirAll(filepath.Join(dir, sub), 0o777))
	}
	for _, name := range []string{"root/plain/file", "other/file"} {
		ok(t, os.WriteFile(filepath.Join(dir, name), content(10), 0o666))
	}
	bound := filepath.Join(dir, "root/bound")
	if err := unix.Mount(filepath.Join(dir, "other"), bound, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mount: ", err)
	}
	defer unix.Unmount(bound, unix.MNT_DETACH)
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	ok(t, err)
	defer root.Close()
	for name, want := range map[string]error{"plain/file": nil, "bound/file": syscall.EXDEV} {
		for _, one := range []bool{false, true} {
			r, err := fileio.Open(name, fileio.Options{Root: root, OneMount: one})
			if err == nil {
				r.Close()
			}
			if one && !errors.Is(err, want) || !one && err != nil {
				t.Errorf("%s, one mount %v: %v", name, one, err)
			}
		}
	}
}

// An attacker swaps a directory with a link to another one again and again.
func TestOpenBelowARootOfSwaps(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(dir, "root/sub"), 0o777))
	ok(t, os.MkdirAll(filepath.Join(dir, "away"), 0o777))
	ok(t, os.WriteFile(filepath.Join(dir, "root/sub/file"), []byte("ours"), 0o666))
	ok(t, os.WriteFile(filepath.Join(dir, "away/file"), []byte("secret"), 0o666))
	ok(t, os.Symlink("../away", filepath.Join(dir, "root/link")))
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	ok(t, err)
	defer root.Close()
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		a, b := filepath.Join(dir, "root/sub"), filepath.Join(dir, "root/link")
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer func() {
		close(stop)
		swaps.Wait()
	}()
	opened, refused := 0, 0
	for i := 0; i < 20_000 && (i < 2000 || opened == 0 || refused == 0); i++ {
		r, err := fileio.Open("sub/file", fileio.Options{Root: root})
		if err != nil {
			refused++
			continue
		}
		opened++
		if b, err := io.ReadAll(r); err != nil || string(b) != "ours" {
			t.Fatalf("read %q, %v", b, err)
		}
		ok(t, r.Close())
	}
	if opened == 0 {
		t.Error("never opened")
	}
	t.Logf("opened %d times, refused %d times", opened, refused)
}

// A file that claims a huge size neither takes memory of that size nor makes a call
// take long.
func TestHugeSparseFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "huge")
	f, err := os.Create(name)
	ok(t, err)
	defer f.Close()
	size := int64(1) << 62
	for ; f.Truncate(size) != nil; size >>= 1 {
		if size < 1<<40 {
			t.Skip("no file here can be that large")
		}
	}
	_, err = f.WriteString("head")
	ok(t, err)
	t.Logf("%d bytes", size)
	eachWay(t, func(t *testing.T, way fileio.Way) {
		for _, pattern := range []fileio.Pattern{fileio.Unknown, fileio.Sequential, fileio.Random} {
			made := filetest.Allocated(func() {
				r, err := fileio.Open(name, fileio.Options{Way: way, Pattern: pattern})
				if way == fileio.Mapped && err != nil {
					return // of the address space
				}
				ok(t, err)
				defer r.Close()
				b := make([]byte, 4096)
				for _, off := range []int64{0, size / 2, size - 4096, size - 1, size} {
					n, err := r.ReadAt(b, off)
					if want := min(size-off, 4096); int64(n) != want || err != nil && err != io.EOF {
						t.Errorf("ReadAt %d: %d, %v", off, n, err)
					}
				}
				if _, err := io.ReadFull(r, b); err != nil || string(b[:4]) != "head" {
					t.Errorf("Read: %q, %v", b[:4], err)
				}
				if at, err := r.Seek(-10, io.SeekEnd); at != size-10 || err != nil {
					t.Errorf("Seek: %d, %v", at, err)
				}
				if n, err := r.WriteTo(io.Discard); n != 10 || err != nil {
					t.Errorf("WriteTo: %d, %v", n, err)
				}
				if r.Way() != fileio.Mapped {
					for _, n := range []int64{size, size / 2, 1<<30 + 1} {
						err := r.View(0, int(n), func([]byte) error { t.Error("called"); return nil })
						if !errors.Is(err, errors.ErrUnsupported) {
							t.Errorf("View of %d bytes: %v", n, err)
						}
					}
				}
				if way != fileio.Mapped { // in a mapping the kernel reads each page of the holes
					ok(t, r.Advise(0, 0, fileio.AdviceDontNeed))
				}
			})
			if made > 8<<20 {
				t.Errorf("%v: made %d bytes of memory", pattern, made)
			}
		}
	})
	dst := create(t)
	made := filetest.Allocated(func() {
		ctx, cancel := context.WithCancel(context.Background())
		o := fileio.CopyOptions{Sparse: true, Trace: func(fileio.Op) { cancel() }}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Error(err)
		}
		if _, err := fileio.Copy(ctx, dst, f, o); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	if made > 8<<20 {
		t.Errorf("Copy made %d bytes of memory", made)
	}
	made = filetest.Allocated(func() {
		g := create(t)
		w := newWriter(t, g, fileio.WriterOptions{Preallocate: 1<<63 - 1})
		_, err := w.WriteString("text")
		ok(t, err)
		ok(t, w.Close())
		holds(t, g.Name(), []byte("text"))
	})
	if made > 8<<20 {
		t.Errorf("Preallocate made %d bytes of memory", made)
	}
}

// A preallocation step that does not fit on the disk takes no space.
func TestPreallocateMoreThanThereIs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 64 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { ok(t, image.Close()) })
	f, err := os.Create(filepath.Join(image.Path, "file"))
	ok(t, err)
	defer f.Close()
	w := newWriter(t, f, fileio.WriterOptions{Preallocate: 1 << 30})
	_, err = w.WriteString("text")
	ok(t, err)
	ok(t, w.Commit())
	if s := w.Stats(); s.Fallback == nil || s.Preallocated != 0 {
		t.Errorf("%+v", s)
	}
	ok(t, os.WriteFile(filepath.Join(image.Path, "other"), content(20<<20), 0o666))
	ok(t, w.Close())
	holds(t, f.Name(), []byte("text"))
}

// Files of /proc report a size of 0.
func TestFilesOfTheKernel(t *testing.T) {
	want, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for _, way := range []fileio.Way{fileio.Auto, fileio.Buffered, fileio.Mapped} {
		r, err := fileio.Open("/proc/self/status", fileio.Options{Way: way, Pattern: fileio.Random})
		ok(t, err)
		defer r.Close()
		got, err := io.ReadAll(r)
		ok(t, err)
		if name, _, _ := strings.Cut(string(got), "\n"); len(got) < len(want)/2 || !strings.HasPrefix(string(want), name) {
			t.Errorf("%v: read %d bytes of %d", way, len(got), len(want))
		}
	}
}
