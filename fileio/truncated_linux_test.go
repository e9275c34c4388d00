package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stele-go/stele/fileio"
)

// isTruncated fails the test unless err is ErrTruncated of the file, without an
// address.
func isTruncated(t *testing.T, err error, name string) {
	t.Helper()
	if !errors.Is(err, fileio.ErrTruncated) || errors.Is(err, syscall.EFAULT) || !bytes.Contains([]byte(err.Error()), []byte(name)) {
		t.Errorf("%v; want %v of %s", err, fileio.ErrTruncated, name)
	}
}

// A source that is truncated during ReadFrom does not fail the Writer: the buffered
// bytes, those that the source had, and all later ones are written.
func TestWriterOutlivesATruncatedSource(t *testing.T) {
	const left = 10
	want := content(600 * page) // more than one View of WriteTo
	for name, o := range map[string]fileio.WriterOptions{
		"buffered":          {},
		"small buffer":      {BufferSize: 4096},
		"larger than views": {BufferSize: 8 << 20},
		"each write":        {Policy: fileio.EachWrite()},
		"each write, dsync": {Policy: fileio.EachWrite(), Sync: fileio.SyncDsync},
		"o_dsync":           {Sync: fileio.SyncODsync},
		"never":             {Policy: fileio.Never()},
		"every bytes":       {Policy: fileio.EveryBytes(5)},
		"direct":            {Way: fileio.Direct},
		"direct, small":     {Way: fileio.Direct, BufferSize: 4096},
		"uncached":          {Way: fileio.Uncached},
	} {
		for how, copy := range map[string]func(w *fileio.Writer, r *fileio.Reader) (int64, error){
			"WriteTo":  func(w *fileio.Writer, r *fileio.Reader) (int64, error) { return r.WriteTo(w) },
			"ReadFrom": func(w *fileio.Writer, r *fileio.Reader) (int64, error) { return w.ReadFrom(r) },
			"io.Copy":  func(w *fileio.Writer, r *fileio.Reader) (int64, error) { return io.Copy(w, r) },
			"View": func(w *fileio.Writer, r *fileio.Reader) (n int64, err error) {
				from := w.Offset()
				err = r.View(0, len(want), func(b []byte) error {
					_, err := w.Write(b)
					return err
				})
				return w.Offset() - from, err
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				src := fileOf(t, want)
				r := open(t, src, fileio.Options{Way: fileio.Mapped})
				ok(t, os.Truncate(src, int64(left*page)))
				f := create(t)
				w := newWriter(t, f, o)
				_, err := w.WriteString("before")
				ok(t, err)
				n, err := copy(w, r)
				isTruncated(t, err, src)
				if n < 0 || n > int64(left*page) {
					t.Fatalf("%d bytes are said to be written, of %d", n, left*page)
				}
				if how == "WriteTo" && n < int64(left*page) {
					t.Errorf("%d bytes were written of the %d that there are", n, left*page)
				}
				ok(t, w.Err())
				if at := w.Offset(); at != int64(len("before"))+n {
					t.Errorf("the offset is %d after %d bytes and %d", at, len("before"), n)
				}
				_, err = w.WriteString("after")
				ok(t, err)
				ok(t, w.Close())
				holds(t, f.Name(), append(append([]byte("before"), want[:n]...), "after"...))
			})
		}
	}
}

// A copy of a truncated source fails, and names the source.
func TestTruncatedSourceOfFiles(t *testing.T) {
	want := content(600 * page)
	for _, left := range []int{0, 1, page, 10*page + 100, 512*page + 1, 600*page - 100} {
		src := fileOf(t, want)
		r := open(t, src, fileio.Options{Way: fileio.Mapped})
		ok(t, os.Truncate(src, int64(left)))
		f := create(t)
		n, err := r.WriteTo(f)
		isTruncated(t, err, src)
		b, err := os.ReadFile(f.Name())
		ok(t, err)
		// The rest of the last page that is there reads as zeros.
		if int64(len(b)) != n || n > int64((left+page-1)/page*page) || !bytes.Equal(b[:min(int(n), left)], want[:min(int(n), left)]) {
			t.Errorf("%d bytes of %d: wrote %d, the file has %d", left, len(want), n, len(b))
		}
	}
}

// A writer that faults gets exactly the bytes that exist.
func TestTruncatedSourceOfMemory(t *testing.T) {
	want := content(25 * page)
	for _, left := range []int{0, 1, 10 * page, 10*page + 100, 25*page - 1} {
		src := fileOf(t, want)
		r := open(t, src, fileio.Options{Way: fileio.Mapped})
		ok(t, os.Truncate(src, int64(left)))
		var b bytes.Buffer
		n, err := r.WriteTo(&b)
		isTruncated(t, err, src)
		if n != int64(left) || !bytes.Equal(b.Bytes(), want[:left]) {
			t.Errorf("wrote %d bytes, and the buffer has %d; want %d", n, b.Len(), left)
		}
	}
}

// sparseFile creates a file of data and holes in turn, 1 MiB each.
func sparseFile(t *testing.T, pieces int) *os.File {
	t.Helper()
	f := create(t)
	for i := range pieces {
		if i%2 == 0 {
			_, err := f.WriteAt(bytes.Repeat([]byte{byte(i + 1)}, 1<<20), int64(i)<<20)
			ok(t, err)
		}
	}
	ok(t, f.Truncate(int64(pieces)<<20))
	return f
}

// Copy notices that the source is shorter than at the start.
func TestCopyOfASourceThatShrinks(t *testing.T) {
	for name, c := range map[string]struct {
		pieces int
		left   int64
		o      fileio.CopyOptions
		copyN  bool
	}{
		"whole":                      {130, 70 << 20, fileio.CopyOptions{}, false},
		"n bytes":                    {130, 70 << 20, fileio.CopyOptions{}, true},
		"sparse, cut in data":        {5, 2<<20 + 5, fileio.CopyOptions{Sparse: true}, false},
		"sparse, cut in a hole":      {6, 3<<20 + 5, fileio.CopyOptions{Sparse: true}, false},
		"sparse, cut before it":      {5, 1 << 19, fileio.CopyOptions{Sparse: true}, false},
		"sparse, n bytes":            {5, 2<<20 + 5, fileio.CopyOptions{Sparse: true}, true},
		"sparse, n bytes, in a hole": {6, 3<<20 + 5, fileio.CopyOptions{Sparse: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			src, dst := sparseFile(t, c.pieces), create(t)
			cut := false
			c.o.Trace = func(fileio.Op) {
				if !cut {
					cut = true
					ok(t, src.Truncate(c.left))
				}
			}
			var n fileio.CopyResult
			var err error
			if c.copyN {
				n, err = fileio.CopyN(context.Background(), dst, src, int64(c.pieces)<<20, c.o)
			} else {
				n, err = fileio.Copy(context.Background(), dst, src, c.o)
			}
			isTruncated(t, err, src.Name())
			info, err := dst.Stat()
			ok(t, err)
			if n.Bytes > max(c.left, 64<<20) || info.Size() != n.Bytes {
				t.Errorf("copied %+v of %d bytes that there were; the copy has %d", n, c.left, info.Size())
			}
			at, err := src.Seek(0, io.SeekCurrent)
			ok(t, err)
			to, err := dst.Seek(0, io.SeekCurrent)
			ok(t, err)
			if at != n.Bytes || to != n.Bytes {
				t.Errorf("the offsets are %d and %d after %d bytes", at, to, n.Bytes)
			}
		})
	}
}

// Files of /proc and /sys report a size of 0 or one page: they do not count as
// truncated.
func TestCopyOfFilesOfTheKernel(t *testing.T) {
	for _, name := range []string{"/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"} {
		for _, sparse := range []bool{false, true} {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Skip(err)
			}
			src, err := os.Open(name)
			ok(t, err)
			defer src.Close()
			dst, err := os.Create(filepath.Join(t.TempDir(), "copy"))
			ok(t, err)
			defer dst.Close()
			if _, err := fileio.Copy(context.Background(), dst, src, fileio.CopyOptions{Sparse: sparse}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := os.ReadFile(dst.Name()); err != nil || len(got) == 0 || !bytes.Equal(got[:5], want[:5]) {
				t.Errorf("%s: copied %d bytes of %d, %v", name, len(got), len(want), err)
			}
		}
	}
}

// A Write from a mapping that became shorter fails with EFAULT, except for one that fits
// into the buffer: that faults, and View returns ErrTruncated. Either way the Writer has
// the bytes that Write and Offset report, and goes on.
func TestWriteOfMemoryThatIsGone(t *testing.T) {
	const left = 2
	want := content(40 * page)
	for name, c := range map[string]struct {
		buffer int
		quick  bool
	}{
		"there is room for it": {64 * page, true},
		"larger":               {8 * page, false},
	} {
		t.Run(name, func(t *testing.T) {
			src := fileOf(t, want)
			r := open(t, src, fileio.Options{Way: fileio.Mapped})
			f := create(t)
			w := newWriter(t, f, fileio.WriterOptions{BufferSize: c.buffer})
			_, err := w.WriteString("before")
			ok(t, err)
			ok(t, os.Truncate(src, int64(left*page)))
			n, returned := 0, false
			err = r.View(0, len(want), func(b []byte) (err error) {
				n, err = w.Write(b)
				returned = true
				if !errors.Is(err, syscall.EFAULT) {
					t.Errorf("Write: %d, %v; want %v", n, err, syscall.EFAULT)
				}
				return err
			})
			isTruncated(t, err, src)
			if returned == c.quick || n < 0 || n > left*page {
				t.Errorf("Write has returned is %v, with %d bytes", returned, n)
			}
			ok(t, w.Err())
			if at := w.Offset(); at != int64(len("before")+n) {
				t.Errorf("the offset is %d after %d bytes", at, n)
			}
			_, err = w.WriteString("after")
			ok(t, err)
			ok(t, w.Close())
			holds(t, f.Name(), append(append([]byte("before"), want[:n]...), "after"...))
		})
	}
}
