package fileio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/profile"
)

// calls records the operations that a writer traces.
type calls []fileio.Op

func (c *calls) trace(op fileio.Op) { *c = append(*c, op) }

func (c calls) of(kind fileio.OpKind) (got [][2]int64) {
	for _, op := range c {
		if op.Kind == kind {
			got = append(got, [2]int64{op.Offset, op.Bytes})
		}
	}
	return got
}

func same(a, b [][2]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A partial block is written through the page cache, and again by direct I/O once it is
// whole.
func TestDirectTail(t *testing.T) {
	big := fileio.AlignedBuffer(1 << 20)
	for i := range big {
		big[i] = byte(i / 1000)
	}
	for _, c := range []struct {
		name   string
		start  int64
		writes [][2]int // bytes, and 1 for a Flush afterwards
		want   [][2]int64
	}{
		{"whole blocks", 0, [][2]int{{8192, 1}}, [][2]int64{{0, 8192}}},
		{"tail", 0, [][2]int{{5000, 1}}, [][2]int64{{0, 4096}, {4096, 904}}},
		{"tail only", 0, [][2]int{{10, 1}, {10, 1}}, [][2]int64{{0, 10}, {10, 10}}},
		{"tail made whole", 0, [][2]int{{5000, 1}, {3192, 1}}, [][2]int64{{0, 4096}, {4096, 904}, {4096, 4096}}},
		{"tail grows over the block", 0, [][2]int{{10, 1}, {5000, 1}}, [][2]int64{{0, 10}, {0, 4096}, {4096, 914}}},
		{"flushed twice", 0, [][2]int{{10, 1}, {0, 1}}, [][2]int64{{0, 10}}},
		{"unaligned start", 100, [][2]int{{5000, 1}, {5000, 1}}, [][2]int64{{100, 3996}, {4096, 1004}, {4096, 4096}, {8192, 1908}}},
		{"start and end in a block", 100, [][2]int{{10, 1}, {4000, 1}}, [][2]int64{{100, 10}, {110, 3986}, {4096, 14}}},
		{"full buffer", 0, [][2]int{{20_000, 0}, {20_000, 0}}, [][2]int64{{0, 16384}, {16384, 16384}, {32768, 4096}, {36864, 3136}}},
		{"caller's blocks", 0, [][2]int{{1 << 17, 0}, {10, 1}}, [][2]int64{{0, 1 << 17}, {1 << 17, 10}}},
		{"caller's blocks and more", 0, [][2]int{{1<<17 + 10, 1}}, [][2]int64{{0, 1 << 17}, {1 << 17, 10}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := create(t)
			want := bytes.Repeat([]byte{'o'}, int(c.start))
			_, err := f.Write(want)
			ok(t, err)
			var got calls
			w := newWriter(t, f, fileio.WriterOptions{Way: fileio.Direct, BufferSize: 16384, Trace: got.trace})
			for _, x := range c.writes {
				_, err := w.Write(big[:x[0]])
				ok(t, err)
				want = append(want, big[:x[0]]...)
				if x[1] == 1 {
					ok(t, w.Flush())
					holds(t, f.Name(), want)
				}
			}
			ok(t, w.Close())
			holds(t, f.Name(), want)
			if !same(got.of(fileio.OpWrite), c.want) {
				t.Errorf("wrote %v, want %v", got.of(fileio.OpWrite), c.want)
			}
		})
	}
}

// A way of the profile falls back to another. A way that was set does not.
func TestDirectAbsent(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ok(t, err)
	defer f.Close()
	if _, err := fileio.NewWriter(f, fileio.WriterOptions{Way: fileio.Direct}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("appending past the page cache: %v", err)
	}
	o := fileio.WriterOptions{Profile: directProfile}
	w := newWriter(t, f, o)
	if w.Way() != fileio.Buffered || !errors.Is(w.Stats().Fallback, errors.ErrUnsupported) {
		t.Errorf("way %v, %v", w.Way(), w.Stats().Fallback)
	}
	w = newWriter(t, create(t), o)
	if w.Way() != fileio.Direct && w.Stats().Fallback == nil {
		t.Errorf("way %v, and no word about it", w.Way())
	}
}

// A file opened with O_APPEND is written at its end.
func TestWriterAppends(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(name, []byte("old "), 0o600))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	ok(t, err)
	defer f.Close()
	w := newWriter(t, f, fileio.WriterOptions{Sync: fileio.SyncDsync})
	if w.Offset() != 4 {
		t.Errorf("offset %d", w.Offset())
	}
	_, err = w.WriteString("new")
	ok(t, err)
	ok(t, w.Commit())
	if w.Offset() != 7 || w.Durable() != 7 {
		t.Errorf("offset %d, durable %d", w.Offset(), w.Durable())
	}
	src := create(t)
	_, err = src.Write(make([]byte, 3<<20))
	ok(t, err)
	_, err = src.Seek(0, io.SeekStart)
	ok(t, err)
	n, err := w.ReadFrom(src) // copy_file_range(2) refuses a file opened with O_APPEND
	if n != 3<<20 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	ok(t, w.Close())
	holds(t, name, append([]byte("old new"), make([]byte, 3<<20)...))
}

// Space is allocated in steps, and freed at the end.
func TestPreallocate(t *testing.T) {
	for _, fsName := range []string{"", "ext4", "xfs", "btrfs"} {
		t.Run("fs="+fsName, func(t *testing.T) {
			dir := t.TempDir()
			if fsName != "" {
				if testing.Short() {
					t.Skip("makes a file system")
				}
				image, err := scratch.Image(t.Context(), scratch.Options{FS: fsName, Size: 320 << 20, Store: dir})
				if err != nil {
					t.Skip(err)
				}
				defer image.Close()
				dir = image.Path
			}
			f, err := os.Create(filepath.Join(dir, "file"))
			ok(t, err)
			defer f.Close()
			var got calls
			w := newWriter(t, f, fileio.WriterOptions{Preallocate: 1 << 20, Trace: got.trace})
			for range 3 {
				_, err := w.Write(make([]byte, 500_000))
				ok(t, err)
				ok(t, w.Commit())
			}
			if w.Stats().Fallback != nil {
				t.Skip(w.Stats().Fallback)
			}
			if want := [][2]int64{{0, 1 << 20}, {1 << 20, 1 << 20}}; !same(got.of(fileio.OpPrealloc), want) {
				t.Errorf("reserved %v, want %v", got.of(fileio.OpPrealloc), want)
			}
			if b := blocks(t, f); b < 2<<20 {
				t.Errorf("the file has room for %d bytes", b)
			}
			ok(t, w.Close())
			ok(t, f.Sync())
			if b := blocks(t, f); b >= 1_600_000 {
				t.Errorf("room for %d bytes after Close", b)
			}
			holds(t, f.Name(), make([]byte, 1_500_000))
		})
	}
}

func blocks(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	ok(t, err)
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// On a full disk the writer fails with ENOSPC for good, and the file has the bytes that
// it reports.
func TestWriterFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts a tmpfs; needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("stele", dir, "tmpfs", 0, "size=1M"); err != nil {
		t.Skip("mount: ", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	f, err := os.Create(filepath.Join(dir, "file"))
	ok(t, err)
	defer f.Close()
	// The step does not fit, but the bytes do.
	w := newWriter(t, f, fileio.WriterOptions{Preallocate: 2 << 20, BufferSize: 4096})
	p := bytes.Repeat([]byte("stele "), 50_000)
	n, err := w.Write(p)
	if n != len(p) || err != nil || w.Stats().Fallback == nil {
		t.Errorf("%d, %v, %v", n, err, w.Stats().Fallback)
	}
	total := n
	for err == nil {
		n, err = w.Write(p)
		total += n
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if w.Offset() != int64(total) || w.Err() != err || w.Commit() != err {
		t.Errorf("offset %d after %d bytes, %v", w.Offset(), total, w.Err())
	}
	if w.Close() != err {
		t.Error("Close has forgotten it")
	}
	holds(t, f.Name(), bytes.Repeat(p, 4)[:total])
}

// Uncached writes leave no pages in the page cache, or report that they do.
func TestUncached(t *testing.T) {
	const size = 1 << 20
	f := create(t)
	w := newWriter(t, f, fileio.WriterOptions{Way: fileio.Uncached})
	defer func() {
		ok(t, w.Close())
		holds(t, f.Name(), make([]byte, w.Offset()))
	}()
	// A page that is in use when its write ends stays: then try again with other pages.
	before, now := int64(0), int64(0)
	for range 5 {
		_, err := w.Write(make([]byte, size))
		ok(t, err)
		ok(t, w.Commit())
		if w.Way() == fileio.Buffered && w.Stats().Fallback != nil {
			t.Log("no RWF_DONTCACHE here: ", w.Stats().Fallback)
			return
		}
		if w.Way() != fileio.Uncached || w.Stats().Fallback != nil {
			t.Fatalf("way %v, %v", w.Way(), w.Stats().Fallback)
		}
		// Another thread evicts the pages once they are written.
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			now, err = pagecache.Cached(f)
			if err != nil || now-before < size/2 {
				return
			}
		}
		before = now
	}
	t.Errorf("%d of the last %d bytes are in the page cache", now-before, size)
}

// Bytes that were written before the Writer become durable with its first commit, by
// one sync of the whole file where the mechanism covers single writes only.
func TestOlderBytes(t *testing.T) {
	for _, m := range []fileio.Mechanism{fileio.SyncFdatasync, fileio.SyncDsync, fileio.SyncODsync} {
		f := create(t)
		_, err := f.WriteString("a header that nobody has synced")
		ok(t, err)
		var ops calls
		w := newWriter(t, f, fileio.WriterOptions{Sync: m, Trace: ops.trace})
		ok(t, w.Commit())
		if n := len(ops.of(fileio.OpSync)); n != 0 {
			t.Errorf("%s: %d syncs where nothing was written", m, n)
		}
		var syncs []int
		for range 3 {
			_, err := w.Write([]byte("record"))
			ok(t, err)
			ok(t, w.Commit())
			syncs = append(syncs, len(ops.of(fileio.OpSync)))
			if w.Durable() != w.Offset() {
				t.Errorf("%s: %d of %d bytes are durable", m, w.Durable(), w.Offset())
			}
		}
		ok(t, w.Close())
		if want := map[bool]string{true: "[1 2 3]", false: "[1 1 1]"}[m == fileio.SyncFdatasync]; fmt.Sprint(syncs) != want {
			t.Errorf("%s: %v syncs of the file after each commit; want %s", m, syncs, want)
		}
	}
}

// A profile may not weaken the promise that was set.
func TestProfileKeepsPromises(t *testing.T) {
	for _, m := range []fileio.Mechanism{fileio.SyncRange, fileio.SyncODsync} {
		for _, p := range []fileio.Policy{fileio.OnCommit(), fileio.Never()} {
			w := newWriter(t, create(t), fileio.WriterOptions{Policy: p, Profile: &profile.Profile{Write: profile.Write{Sync: string(m)}}})
			if got := w.Mechanism(); got == fileio.SyncRange || p == fileio.Never() && got != fileio.SyncFdatasync {
				t.Errorf("%s, %s: %s", m, p, got)
			}
		}
	}
}

// A Write whose bytes can no longer be read does not fail the Writer.
func TestWriteOfTruncatedView(t *testing.T) {
	name := fileOf(t, content(4*page))
	r := open(t, name, fileio.Options{Way: fileio.Mapped})
	f := create(t)
	w := newWriter(t, f, fileio.WriterOptions{})
	_, err := w.WriteString("before, ")
	ok(t, err)
	ok(t, os.Truncate(name, 0))
	err = r.View(0, page, func(b []byte) error { _, err := w.Write(b); return err })
	if !errors.Is(err, fileio.ErrTruncated) {
		t.Errorf("%v", err)
	}
	_, err = w.WriteString("after")
	ok(t, err)
	ok(t, w.Close())
	holds(t, f.Name(), []byte("before, after"))
}
