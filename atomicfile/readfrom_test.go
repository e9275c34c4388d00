package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/atomicfile"
)

// upper reads its file in upper case.
type upper struct{ *os.File }

func (u upper) Read(b []byte) (int, error) {
	n, err := u.File.Read(b)
	copy(b, bytes.ToUpper(b[:n]))
	return n, err
}

// ReadFrom copies from the offset of the source, and leaves the offset where reading
// would.
func TestReadFromFiles(t *testing.T) {
	const mib = 1 << 20
	content := bytes.Repeat([]byte("sixteen letters\n"), 3*mib/16)
	content = append(content, "the end"...)
	dir := t.TempDir()
	put(t, dir, "source", string(content))
	for _, c := range []struct {
		name   string
		offset int
		reader func(*os.File) io.Reader
		want   []byte
		at     int // the offset of the source afterwards
	}{
		{"file", 0, func(f *os.File) io.Reader { return f }, content, len(content)},
		{"file, from the middle of a block", 777, func(f *os.File) io.Reader { return f }, content[777:], len(content)},
		{"file, from its end", len(content), func(f *os.File) io.Reader { return f }, nil, len(content)},
		{"limited", 0, func(f *os.File) io.Reader { return io.LimitReader(f, 2*mib+5) }, content[:2*mib+5], 2*mib + 5},
		{"limited to more than there is", 5, func(f *os.File) io.Reader { return io.LimitReader(f, 9*mib) }, content[5:], len(content)},
		{"limited to little", 0, func(f *os.File) io.Reader { return io.LimitReader(f, 100) }, content[:100], 100},
		{"limited to nothing", 0, func(f *os.File) io.Reader { return io.LimitReader(f, 0) }, nil, 0},
		{"a type that changes what it reads", 0, func(f *os.File) io.Reader { return upper{f} }, bytes.ToUpper(content), len(content)},
		{"the same, limited", 0, func(f *os.File) io.Reader { return io.LimitReader(upper{f}, 2*mib) }, bytes.ToUpper(content[:2*mib]), 2 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := os.Open(filepath.Join(dir, "source"))
			must(t, err)
			defer src.Close()
			_, err = src.Seek(int64(c.offset), io.SeekStart)
			must(t, err)
			f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o644, kill)
			must(t, err)
			defer f.Abort()
			if _, err := f.Write([]byte("before ")); err != nil {
				t.Fatal(err)
			}
			r := c.reader(src)
			limited, isLimited := r.(*io.LimitedReader)
			limit := int64(0)
			if isLimited {
				limit = limited.N
			}
			n, err := f.ReadFrom(r)
			if n != int64(len(c.want)) || err != nil {
				t.Errorf("%d bytes, %v; want %d", n, err, len(c.want))
			}
			if isLimited && limited.N != limit-n {
				t.Errorf("%d of %d bytes are left after %d", limited.N, limit, n)
			}
			if at, err := src.Seek(0, io.SeekCurrent); at != int64(c.at) || err != nil {
				t.Errorf("the source stands at %d, %v; want %d", at, err, c.at)
			}
			if _, err := f.Write([]byte(" after")); err != nil {
				t.Fatal(err)
			}
			must(t, f.Commit())
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			must(t, err)
			if want := "before " + string(c.want) + " after"; string(got) != want {
				t.Errorf("%d bytes, want %d, or others", len(got), len(want))
			}
		})
	}
}

// The holes of a sparse file are copied as zeros.
func TestReadFromSparseFile(t *testing.T) {
	const size = 24 << 20
	dir := t.TempDir()
	src, err := os.Create(filepath.Join(dir, "source"))
	must(t, err)
	defer src.Close()
	must(t, src.Truncate(size))
	_, err = src.WriteAt([]byte("an island"), 9<<20+3)
	must(t, err)
	f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o644, atomicfile.Options{})
	must(t, err)
	defer f.Abort()
	if n, err := io.Copy(f, src); n != size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	must(t, f.Commit())
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	must(t, err)
	want := make([]byte, size)
	copy(want[9<<20+3:], "an island")
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, or others", len(got), size)
	}
}

// A source that cannot be read fails the File.
func TestReadFromFileErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "f", "old")
	closed, err := os.Create(filepath.Join(dir, "closed"))
	must(t, err)
	must(t, closed.Close())
	blind, err := os.OpenFile(filepath.Join(dir, "blind"), os.O_WRONLY|os.O_CREATE, 0o644)
	must(t, err)
	defer blind.Close()
	for _, src := range []*os.File{closed, blind, nil} {
		f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o644, kill)
		must(t, err)
		n, err := f.ReadFrom(src)
		var pe *fs.PathError
		if n != 0 || err == nil || src != nil && !errors.As(err, &pe) {
			t.Errorf("%v: %d bytes, %v", src, n, err)
		}
		if got := f.Commit(); got != err {
			t.Errorf("Commit: %v, want the same as before, %v", got, err)
		}
		holds(t, filepath.Join(dir, "f"), "old")
	}
}
