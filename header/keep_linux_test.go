package header_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

func attr(t *testing.T, name, attr string) string {
	t.Helper()
	b := make([]byte, 1024)
	n, err := unix.Getxattr(name, attr, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// A new file takes over the selected attributes of the old one.
func TestKeeps(t *testing.T) {
	for _, c := range []struct {
		keep  atomicfile.Keep
		mode  uint32
		owner bool
		attr  string
	}{
		{0, 0o4710, true, "mine"},
		{atomicfile.KeepAll &^ atomicfile.KeepXattrs, 0o4710, true, ""},
		{atomicfile.KeepAll &^ atomicfile.KeepMode, 0o4710, true, "mine"},
	} {
		name := write(t, home(t), []byte("content"))
		if os.Geteuid() == 0 {
			must(t, os.Chown(name, 1, 2))
		}
		must(t, unix.Setxattr(name, "user.a", []byte("mine"), 0))
		must(t, syscall.Chmod(name, 0o4710))
		old := syscall.Umask(0o022)
		_, err := header.Insert(context.Background(), name, top, header.Options{Keep: c.keep})
		syscall.Umask(old)
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Stat(name, &st))
		if st.Mode&0o7777 != c.mode {
			t.Errorf("keep %b: the mode is %o, want %o", c.keep, st.Mode&0o7777, c.mode)
		}
		if os.Geteuid() == 0 && (st.Uid == 1 && st.Gid == 2) != c.owner {
			t.Errorf("keep %b: the owner is %d:%d", c.keep, st.Uid, st.Gid)
		}
		if got := attr(t, name, "user.a"); got != c.attr {
			t.Errorf("keep %b: the attribute is %q", c.keep, got)
		}
		got, err := header.Read(context.Background(), name, header.Options{}) // its record is not one of the user's attributes
		if err != nil || !bytes.Equal(got, top) {
			t.Errorf("read %q, %v", got, err)
		}
	}
}

func TestTimes(t *testing.T) {
	past := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, mode := range []header.Mode{header.Atomic, header.InPlace} {
		for _, keep := range []bool{false, true} {
			name := write(t, home(t), []byte("content"))
			_, err := header.Reserve(context.Background(), name, 100, header.Options{Pad: header.PadByte(' ')})
			must(t, err)
			must(t, os.Chtimes(name, past, past))
			_, err = header.Insert(context.Background(), name, top, header.Options{Level: durability.Kill, Mode: mode, KeepTimes: keep})
			must(t, err)
			var st unix.Stat_t
			must(t, unix.Stat(name, &st))
			kept := time.Unix(st.Mtim.Unix()).Equal(past) && time.Unix(st.Atim.Unix()).Equal(past)
			if kept != keep {
				t.Errorf("%v: times kept: %v, want %v", mode, kept, keep)
			}
		}
	}
}

// A symlink is followed and stays. The new file replaces its target.
func TestLinks(t *testing.T) {
	dir := home(t)
	dir, err := os.MkdirTemp(dir, "links")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	real := filepath.Join(dir, "sub", "file")
	must(t, os.WriteFile(real, []byte("content"), 0o444))
	link := filepath.Join(dir, "link")
	must(t, os.Symlink("sub/file", link))
	hard := filepath.Join(dir, "hard")
	must(t, os.Link(real, hard))
	open, err := os.Open(real)
	must(t, err)
	defer open.Close()

	_, err = header.Insert(context.Background(), link, top, header.Options{})
	must(t, err)
	holds(t, real, slices.Concat(top, []byte("content")))
	holds(t, hard, []byte("content")) // the old file
	b, err := io.ReadAll(open)
	if err != nil || string(b) != "content" {
		t.Errorf("who had it open reads %q, %v", b, err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", fi, err)
	}
	only(t, dir, "sub", "link", "hard")

	// A name without a directory.
	t.Chdir(filepath.Join(dir, "sub"))
	_, err = header.Insert(context.Background(), "file", top, kill)
	must(t, err)
	holds(t, real, slices.Concat(top, top, []byte("content")))

	must(t, unix.Mkfifo("fifo", 0o644))
	if _, err := header.Insert(context.Background(), "fifo", top, kill); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("FIFO: %v", err)
	}
	must(t, os.Symlink("loop", "loop"))
	if _, err := header.Insert(context.Background(), "loop", top, kill); err == nil {
		t.Error("a loop of links was followed")
	}
}

// A copy with all attributes does not use the record of the original, and a new file
// does not inherit the record and intent of the old one.
func TestCopiedRecord(t *testing.T) {
	name := write(t, home(t), []byte("content"))
	_, err := header.Insert(context.Background(), name, top, kill)
	must(t, err)
	b, err := os.ReadFile(name)
	must(t, err)
	other := write(t, filepath.Dir(name), b)
	must(t, unix.Setxattr(other, "user.stele.header", []byte(attr(t, name, "user.stele.header")), 0))
	if _, err := header.Read(context.Background(), other, header.Options{}); !errors.Is(err, header.ErrNoHeader) {
		t.Errorf("%v", err)
	}
	must(t, unix.Setxattr(other, "user.stele.header", []byte("damaged"), 0))
	if _, err := header.Remove(context.Background(), other, kill); !errors.Is(err, header.ErrNoHeader) {
		t.Errorf("%v", err)
	}
	holds(t, other, b)
	_, err = header.Swap(context.Background(), other, top, nil, kill)
	must(t, err)
	if got := attr(t, other, "user.stele.header"); got != "" {
		t.Errorf("the record is %q", got)
	}
}

// Holes stay holes, wherever they are.
func TestSparse(t *testing.T) {
	for _, place := range places(t) {
		for _, way := range []header.Strategy{header.Auto, header.Clone, header.KernelCopy, header.Copy} {
			t.Run(place.name+"/"+way.String(), func(t *testing.T) {
				name := write(t, place.dir, bytesOf(5000))
				const size = 3 << 30
				must(t, os.Truncate(name, size)) // ends in a hole
				f, err := os.OpenFile(name, os.O_RDWR, 0)
				must(t, err)
				defer f.Close()
				_, err = f.WriteAt(bytesOf(300_000), 1<<30+12345)
				must(t, err)
				if !sparse(t, name) {
					t.Skip("this file system has no holes")
				}
				o := header.Options{Strategy: way, Level: durability.Kill, Pad: header.PadByte('\n')}
				res, err := header.Insert(context.Background(), name, top, o)
				if errors.Is(err, header.ErrStrategy) && !slices.Contains(place.can, way) {
					t.Skip(err)
				}
				must(t, err)
				if !sparse(t, name) {
					t.Error("the holes are filled")
				}
				now, err := os.Open(name)
				must(t, err)
				defer now.Close()
				fi, err := now.Stat()
				must(t, err)
				if fi.Size() != size+res.Moved {
					t.Errorf("%d bytes", fi.Size())
				}
				for _, off := range []int64{0, 4000, 1 << 29, 1 << 30, 1<<30 + 200_000, size - 4096} {
					want, got := make([]byte, 4096), make([]byte, 4096)
					_, err1 := f.ReadAt(want, off)
					_, err2 := now.ReadAt(got, off+res.Moved)
					must(t, errors.Join(err1, err2))
					if !bytes.Equal(got, want) {
						t.Errorf("it differs at %d", off)
					}
				}
				must(t, os.Remove(name))
			})
		}
	}
}

// A file that begins with a hole, with little data after it.
func TestHoleFirst(t *testing.T) {
	for _, place := range places(t) {
		for _, n := range []int{1000, 400_000} {
			content := slices.Concat(make([]byte, 1<<20), bytesOf(n))
			name := write(t, place.dir, nil)
			must(t, os.Truncate(name, 1<<20))
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.Write(bytesOf(n))
			must(t, errors.Join(err, f.Close()))
			for _, way := range []header.Strategy{header.Copy, header.KernelCopy} {
				_, err = header.Insert(context.Background(), name, top, header.Options{Strategy: way, Level: durability.Kill})
				must(t, err)
				content = slices.Concat(top, content)
				holds(t, name, content)
			}
			if !sparse(t, name) {
				t.Error(place.name, ": the hole is filled")
			}
		}
	}
}

func sparse(t *testing.T, name string) bool {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(name, &st))
	return st.Blocks*512 < 1<<20
}

// On a file system without user attributes Insert works too, and reports that it could
// not write a record.
func TestNothingRecorded(t *testing.T) {
	dir := withoutAttributes(t)
	name := write(t, dir, []byte("content"))
	for _, o := range []header.Options{kill, {}, {Mode: header.InPlace, Pad: header.PadByte(' ')}} {
		must(t, os.WriteFile(name, []byte("content"), 0o644))
		res, err := header.Insert(context.Background(), name, top, o)
		must(t, err)
		if !strings.Contains(res.Why, "no record") {
			t.Errorf("%+v", res)
		}
		holds(t, name, slices.Concat(top, []byte("content")))
		for _, err := range []error{
			second(header.Read(context.Background(), name, header.Options{})), second(header.Remove(context.Background(), name, o)), second(header.Replace(context.Background(), name, top, o)),
		} {
			if !errors.Is(err, header.ErrNoHeader) || !errors.Is(err, syscall.EOPNOTSUPP) {
				t.Error(err)
			}
		}
	}
	if _, err := header.Reserve(context.Background(), name, 100, header.Options{Pad: header.PadByte(' ')}); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Error(err)
	}
	_, err := header.Swap(context.Background(), name, top, nil, header.Options{})
	must(t, err)
	holds(t, name, []byte("content"))
}

// withoutAttributes returns a directory on a file system without user attributes.
func withoutAttributes(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a ramfs needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("ramfs", dir, "ramfs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		t.Skip("no ramfs: ", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	if err := unix.Setxattr(dir, "user.x", []byte("x"), 0); err != unix.EOPNOTSUPP {
		t.Skip("a ramfs has attributes here: ", err)
	}
	return dir
}

// If another program truncates the file without the lock while it is copied, the result
// is an error, not a signal or a wrong file.
func TestCutMeanwhile(t *testing.T) {
	content := bytesOf(8 << 20)
	name := write(t, t.TempDir(), content)
	stop := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Truncate(name, 1<<20)
			os.Truncate(name, 8<<20)
		}
	}()
	for range 20 {
		if _, err := header.Insert(context.Background(), name, []byte("x"), kill); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EBUSY) {
			t.Error(err)
		}
	}
	close(stop)
	<-gone
	only(t, filepath.Dir(name), filepath.Base(name))
}

// With few descriptors the groups are smaller, and no file fails, whichever call finds
// no descriptor left.
func TestFewDescriptors(t *testing.T) {
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	for more := uint64(28); more < 34; more++ {
		_, names := manyFiles(t, 100)
		open, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(len(open)) + more, Max: old.Max}))
		results, err := header.InsertAll(t.Context(), slices.Values(names), headOf, header.AllOptions{Workers: 1})
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
		if err != nil || len(results) != len(names) {
			t.Errorf("%d more descriptors: %d results, %v", more, len(results), err)
		}
	}
}

// The groups of many workers leave each other descriptors.
func TestFewDescriptorsManyWorkers(t *testing.T) {
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	_, names := manyFiles(t, 400)
	open, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(len(open)) + 120, Max: old.Max}))
	results, err := header.InsertAll(t.Context(), slices.Values(names), headOf, header.AllOptions{Workers: 8})
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	if err != nil || len(results) != len(names) {
		t.Errorf("%d results, %v", len(results), err)
	}
}
