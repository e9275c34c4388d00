package fileio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/profile"
)

// The other requests reach the end of the file.
func TestTruncated(t *testing.T) {
	for _, w := range []fileio.Way{fileio.Buffered, fileio.Direct, fileio.Uncached} {
		t.Run(w.String(), func(t *testing.T) {
			name := fileOf(t, content(100_000))
			r, err := fileio.Open(name, fileio.Options{Way: w})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			defer r.Close()
			if err := os.Truncate(name, 50_000); err != nil {
				t.Fatal(err)
			}
			if n, err := r.ReadAt(make([]byte, 20_000), 40_000); n != 10_000 || err != io.EOF {
				t.Error(n, err)
			}
			if err := r.View(60_000, 1, func([]byte) error { return nil }); err != io.EOF {
				t.Error(err)
			}
		})
	}
}

func TestSpecialFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, "/dev/null", "/dev/zero"} {
		for _, w := range []fileio.Way{fileio.Auto, fileio.Buffered, fileio.Mapped} {
			var pe *fs.PathError
			if _, err := fileio.Open(name, fileio.Options{Way: w}); !errors.As(err, &pe) || !strings.Contains(err.Error(), "want a regular file") {
				t.Errorf("%v of %s: %v", w, name, err)
			}
		}
	}
	if _, err := fileio.Open(t.TempDir(), fileio.Options{}); !errors.Is(err, syscall.EISDIR) {
		t.Error(err)
	}
	// A file of size 0 that has content.
	for _, w := range []fileio.Way{fileio.Buffered, fileio.Mapped} {
		r := open(t, "/proc/self/status", fileio.Options{Way: w})
		if b, err := io.ReadAll(r); err != nil || !bytes.HasPrefix(b, []byte("Name:")) {
			t.Errorf("%v: %q, %v", w, b, err)
		}
	}
}

func profileOf(sequential string) *profile.Profile {
	return &profile.Profile{Read: profile.Read{Sequential: sequential}}
}

// Files in memory cannot be uncached, and Linux returns an error.
func TestUnsupported(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "fileio")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "file")
	want := content(10_000)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fileio.Open(name, fileio.Options{Way: fileio.Uncached}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("uncached in memory: %v", err)
	}
	r := open(t, name, fileio.Options{Pattern: fileio.Sequential, Profile: profileOf("uncached")})
	if r.Way() != fileio.Buffered {
		t.Errorf("Auto with a profile that says uncached took %v", r.Way())
	}
	if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, want) {
		t.Error(len(b), err)
	}
	// /proc has no direct I/O.
	if _, err := fileio.Open("/proc/self/status", fileio.Options{Way: fileio.Direct}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("direct in /proc: %v", err)
	}
	r = open(t, "/proc/self/status", fileio.Options{Pattern: fileio.Sequential, Profile: profileOf("direct")})
	if r.Way() != fileio.Buffered {
		t.Errorf("Auto with a profile that says direct took %v", r.Way())
	}
}

// The effect of Advise shows in the page cache.
func TestAdviseCache(t *testing.T) {
	const size = 4 << 20
	for _, w := range []fileio.Way{fileio.Buffered, fileio.Mapped} {
		name := bigFile(t, t.TempDir(), size)
		r := open(t, name, fileio.Options{Way: w})
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cached := func() int64 {
			n, err := pagecache.Cached(f)
			if err != nil {
				t.Skip(err)
			}
			return n
		}
		// Where memory is short, pages read ahead may be evicted before they are counted.
		for again := 5; ; again-- {
			r.View(0, size, func(b []byte) error { _ = sum(b); return nil })
			if err := r.Advise(0, 0, fileio.AdviceDontNeed); err != nil {
				t.Fatal(err)
			}
			if dropped := cached(); dropped > size/4 {
				t.Skipf("%d of %d bytes stay in the page cache: is this a file system in memory?", dropped, size)
			}
			if err := r.Advise(0, 0, fileio.AdviceWillNeed); err != nil {
				t.Fatal(err)
			}
			n := cached()
			for end := time.Now().Add(15 * time.Second); n < size && time.Now().Before(end); n = cached() {
				time.Sleep(time.Millisecond)
			}
			if n >= size {
				break
			}
			if again == 0 {
				t.Fatalf("%v: %d of %d bytes in the page cache after AdviceWillNeed", w, n, size)
			}
		}
	}
}

// Uncached reads leave no pages in the page cache, and buffered ones do.
func TestUncachedLeavesNothing(t *testing.T) {
	const size = 4 << 20
	name := bigFile(t, t.TempDir(), size)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	left := func(w fileio.Way) int64 {
		if err := pagecache.Drop(f); err != nil {
			t.Fatal(err)
		}
		r, err := fileio.Open(name, fileio.Options{Way: w})
		if err != nil {
			t.Skip(err)
		}
		defer r.Close()
		if _, err := io.Copy(io.Discard, io.Reader(struct{ io.Reader }{r})); err != nil {
			t.Fatal(err)
		}
		n, err := pagecache.Cached(f)
		if err != nil {
			t.Skip(err)
		}
		return n
	}
	if n := left(fileio.Buffered); n < size {
		t.Skipf("a buffered read leaves %d of %d bytes in the page cache", n, size)
	}
	for _, c := range []struct {
		way  fileio.Way
		most int64
	}{{fileio.Uncached, size / 2}, {fileio.Direct, 64 << 10}} {
		// Pages in use by another process stay: then try again.
		n := left(c.way)
		for again := 5; n > c.most && again > 0; again-- {
			n = left(c.way)
		}
		if n > c.most {
			t.Errorf("a read by the way %v leaves %d of %d bytes in the page cache", c.way, n, size)
		}
	}
}

// Direct reads leave no pages in the page cache of btrfs either, where reads into memory
// that is not yet mapped would.
func TestDirectOnBtrfs(t *testing.T) {
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "btrfs", Size: 256 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	defer image.Close()
	name := bigFile(t, image.Path, 16<<20)
	f, err := os.Open(name)
	ok(t, err)
	defer f.Close()
	for what, read := range map[string]func(r *fileio.Reader) error{
		"aligned": func(r *fileio.Reader) error {
			_, err := r.ReadAt(fileio.AlignedBuffer(9<<20), 0) // larger than pooled buffers
			return err
		},
		"unaligned": func(r *fileio.Reader) error { _, err := r.ReadAt(make([]byte, 1<<20), 5); return err },
		"view":      func(r *fileio.Reader) error { return r.View(5, 9<<20, func([]byte) error { return nil }) },
		"stream":    func(r *fileio.Reader) error { _, err := r.Read(make([]byte, 1)); return err },
	} {
		dropAll(t, f)
		r := open(t, name, fileio.Options{Way: fileio.Direct})
		ok(t, read(r))
		n, err := pagecache.Resident(f)
		if err != nil {
			t.Skip(err)
		}
		if n > 0 {
			t.Errorf("%s: %d bytes in the page cache", what, n)
		}
		ok(t, r.Close())
	}
}

// dropAll removes the whole file from the page cache. Pages that are still being read
// stay at first. It skips the test on tmpfs, whose files are in the page cache only.
func dropAll(t *testing.T, f *os.File) {
	t.Helper()
	var at unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &at); err == nil && at.Type == unix.TMPFS_MAGIC {
		t.Skip("the files of tmpfs stay in the page cache")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if err := pagecache.Drop(f); err != nil {
			t.Fatal(err)
		}
		n, err := pagecache.Cached(f)
		if err != nil {
			t.Skip(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Skipf("%d bytes stay in the page cache", n)
		}
	}
}

// The Reader finds the order of cold reads, reads ahead, and accounts for it.
func TestReadaheadOfFile(t *testing.T) {
	const size = 16 << 20
	name := bigFile(t, t.TempDir(), size)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		pattern fileio.Pattern
		at      func(i int) int64
		ahead   bool
	}{
		{fileio.Backward, func(i int) int64 { return size - int64(i+1)*8192 }, true},
		{fileio.Strided, func(i int) int64 { return int64(i) * 40960 }, true},
		{fileio.Sequential, func(i int) int64 { return int64(i) * 8192 }, false},
	} {
		for _, w := range []fileio.Way{fileio.Buffered, fileio.Mapped} {
			// Pages that the previous Reader requested may arrive late, and this one finds
			// them in the page cache: then try again.
			for again := 5; ; again-- {
				dropAll(t, f)
				r := open(t, name, fileio.Options{Way: w})
				b := make([]byte, 8192)
				for i := range 300 {
					if _, err := r.ReadAt(b, c.at(i)); err != nil {
						t.Fatal(err)
					}
				}
				s := r.Stats()
				r.Close() // mapped pages cannot be dropped
				if s.Pattern != c.pattern || s.Useful+s.Wasted > s.Issued || w == fileio.Buffered && !c.ahead && s.Issued > 0 {
					t.Errorf("%v, %v: %+v", c.pattern, w, s)
				}
				enough := !c.ahead || s.Window >= fileio.MinWindow && (w != fileio.Buffered || s.Hits >= 200 && s.Useful >= 200*8192)
				if enough {
					break
				}
				if again == 0 {
					t.Fatalf("%v, %v: %+v of 300 requests", c.pattern, w, s)
				}
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector pools drop buffers")
	}
	eachWay(t, func(t *testing.T, w fileio.Way) {
		const size = 1 << 20
		r := open(t, bigFile(t, t.TempDir(), size), fileio.Options{Way: w})
		b := fileio.AlignedBuffer(8192)
		var s uint64
		add := func(v []byte) error { s += sum(v); return nil }
		off := int64(0)
		for what, f := range map[string]func() error{
			"ReadAt":           func() error { _, err := r.ReadAt(b, off); return err },
			"ReadAt unaligned": func() error { _, err := r.ReadAt(b[1:5001], off+7); return err },
			"View":             func() error { return r.View(off, 5000, add) },
			"Read": func() error {
				n, err := r.Read(b[:4096])
				if n == 0 && err == io.EOF {
					_, err = r.Seek(0, io.SeekStart)
				}
				return err
			},
		} {
			n := testing.AllocsPerRun(300, func() {
				off = (off + 3*4096) % (size - 16384)
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
			if n >= 1 {
				t.Errorf("%s allocates %.0f times", what, n)
			}
		}
	})
}

// The system calls of each way, and the error if one fails.
func init() {
	for _, w := range ways {
		scenarios["read-"+w.String()] = func(root string) (func() error, error) {
			r, err := fileio.Open(filepath.Join(root, "file"), fileio.Options{Way: w})
			if err != nil {
				return nil, err
			}
			return func() error {
				b := fileio.AlignedBuffer(8192)
				n, err := r.ReadAt(b, 4096)
				if n == len(b) && b[0] != 1 {
					return errors.New("other bytes")
				}
				return err
			}, nil
		}
	}
}

func TestFaultyReads(t *testing.T) {
	const calls = "pread64,preadv2"
	tracetest.Need(t, calls)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), bytes.Repeat([]byte{1}, 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	if tr := (tracetest.Run{Scenario: "read-mapped", Root: root, Calls: calls}).Do(t); tr.Exit != exitOK || len(tr.Calls()) != 0 {
		t.Errorf("mapped: exit %d, %q, %v; want no call", tr.Exit, tr.Said, tr.Calls())
	}
	for _, w := range []fileio.Way{fileio.Buffered, fileio.Direct, fileio.Uncached} {
		t.Run(w.String(), func(t *testing.T) {
			if r, err := fileio.Open(filepath.Join(root, "file"), fileio.Options{Way: w}); err != nil {
				t.Skip(err)
			} else {
				r.Close()
			}
			run := func(inject ...string) tracetest.Trace {
				return tracetest.Run{Scenario: "read-" + w.String(), Root: root, Calls: calls, Inject: inject}.Do(t)
			}
			tr := run()
			made := tr.Calls()
			if tr.Exit != exitOK || len(made) != 1 {
				t.Fatalf("exit %d, %s: %v; want one call", tr.Exit, tr.Said, made)
			}
			when := fmt.Sprint(":when=", made[0].Nth)
			tr = run(made[0].Name + ":error=EIO" + when)
			if tr.Exit != exitFailed || !strings.Contains(tr.Said, "read "+filepath.Join(root, "file")+": at offset 4096: input/output error") {
				t.Errorf("EIO: exit %d, %q", tr.Exit, tr.Said)
			}
			if tr = run(made[0].Name + ":error=EINTR" + when); tr.Exit != exitOK || len(tr.Calls()) != 2 {
				t.Errorf("EINTR: exit %d, %q, %v", tr.Exit, tr.Said, tr.Calls())
			}
		})
	}
}
