package atomicfile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tracetest"
)

// copyScenarios copy "source" to "file" in each way that the kernel offers.
var copyScenarios = []scenario{
	{name: "copy", prepare: copyBy(func(f *atomicfile.File, src *os.File) (int64, error) { return io.Copy(f, src) })},
	{name: "copy-n", prepare: copyBy(func(f *atomicfile.File, src *os.File) (int64, error) { return io.CopyN(f, src, longCopy) })},
	{name: "copy-readfrom", prepare: copyBy(func(f *atomicfile.File, src *os.File) (int64, error) { return f.ReadFrom(src) })},
}

// longCopy is longer than the part that ReadFrom copies without the kernel.
const longCopy = 1<<20 + 300<<10 + 5

func copyBy(do func(*atomicfile.File, *os.File) (int64, error)) func(string) (func() error, error) {
	return func(dir string) (func() error, error) {
		src, err := os.Open(filepath.Join(dir, "source"))
		return func() error {
			f, err := atomicfile.Create(filepath.Join(dir, "file"), 0o644, kill)
			if err != nil {
				return err
			}
			defer f.Abort()
			if _, err := do(f, src); err != nil {
				return err
			}
			return f.Commit()
		}, err
	}
}

// A long file is copied by the kernel or, from where the kernel refuses, by reading.
func TestKernelCopies(t *testing.T) {
	tracetest.Need(t, traced)
	want := pattern(longCopy)
	for _, s := range copyScenarios {
		for _, fault := range []string{"", "copy_file_range:error=EXDEV", "copy_file_range:error=EIO:when=2+", "copy_file_range:error=EINTR:when=1"} {
			root := newRoot(t, t.TempDir())
			put(t, root, "source", string(want))
			var faults []string
			if fault != "" {
				faults = []string{fault}
			}
			tr := trace(t, s, root, faults...)
			if tr.Exit != exitOK || tr.Count()["copy_file_range"] == 0 {
				t.Errorf("%s, %s: exit %d, %s, calls %v", s.name, fault, tr.Exit, tr.Said, tr.Count())
			}
			holds(t, filepath.Join(root, "file"), string(want))
			noTemps(t, root)
		}
		root := newRoot(t, t.TempDir())
		put(t, root, "source", string(want))
		tr := trace(t, s, root, "copy_file_range:error=ENOSPC", "write:error=ENOSPC:when=5+")
		if tr.Exit != exitFailed {
			t.Errorf("%s: no room: exit %d, %s", s.name, tr.Exit, tr.Said)
		}
		holds(t, filepath.Join(root, "file"), "old")
		noTemps(t, root)
	}
}

// pattern returns content in which no two blocks are equal.
func pattern(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		b.WriteString("line ")
		b.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576%26)))
		b.WriteByte('\n')
	}
	return b.Bytes()[:n]
}

// A sparse file that is larger than its file system is shared with its holes, in
// several system calls.
func TestReadFromHugeFile(t *testing.T) {
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "xfs", Size: 320 << 20, Store: t.TempDir()})
	if err != nil {
		t.Skip("needs an XFS, which shares extents: ", err)
	}
	t.Cleanup(func() { image.Close() })
	const size = 5<<30 + 123
	islands := []int64{0, 1 << 20, 1<<30 + 5, 4<<30 - 3, size - 6}
	src, err := os.Create(filepath.Join(image.Path, "source"))
	must(t, err)
	defer src.Close()
	must(t, src.Truncate(size))
	for _, at := range islands {
		_, err := src.WriteAt([]byte("island"), at)
		must(t, err)
	}
	d, err := atomicfile.OpenDir(image.Path, atomicfile.Options{})
	must(t, err)
	defer d.Close()
	f, err := d.Create("f", 0o644)
	must(t, err)
	defer f.Abort()
	if n, err := io.Copy(f, src); n != size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	must(t, f.Commit())
	got, err := os.Open(filepath.Join(image.Path, "f"))
	must(t, err)
	defer got.Close()
	fi, err := got.Stat()
	must(t, err)
	if fi.Size() != size || sys.AllocatedBytes(fi) > 32<<20 {
		t.Errorf("%d bytes, of which %d are on the disk", fi.Size(), sys.AllocatedBytes(fi))
	}
	for _, at := range islands {
		b := make([]byte, 6)
		if _, err := got.ReadAt(b, at); string(b) != "island" || err != nil {
			t.Errorf("at %d is %q, %v", at, b, err)
		}
	}
}

// A file of /proc has no size and cannot be copied by the kernel. The content of this
// one changes when modules and BPF programs are loaded, also by other tests: then the
// test tries again.
func TestReadFromProc(t *testing.T) {
	const proc = "/proc/kallsyms" // some MiB
	path := filepath.Join(t.TempDir(), "f")
	for again := 5; ; again-- {
		want, err := os.ReadFile(proc)
		if err != nil {
			t.Skip(err)
		}
		src, err := os.Open(proc)
		must(t, err)
		f, err := atomicfile.Create(path, 0o600, kill)
		must(t, err)
		if n, err := f.ReadFrom(src); err != nil || n < int64(len(want))/2 {
			t.Fatalf("%d bytes of %d, %v", n, len(want), err)
		}
		must(t, f.Commit())
		must(t, src.Close())
		got, err := os.ReadFile(path)
		must(t, err)
		if bytes.Equal(got, want) {
			return
		}
		if again == 0 {
			t.Fatalf("%d bytes, want %d, or others", len(got), len(want))
		}
	}
}
