package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteDurably(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		text string
		off  int64
	}{{"hello", 3}, {"", 0}, {"x", 1 << 32}} {
		n, err := WriteDurably(f, []byte(c.text), c.off)
		if Absent(err) {
			t.Skip("no RWF_DSYNC here: ", err)
		}
		if n != len(c.text) || err != nil {
			t.Fatalf("%q: %d, %v", c.text, n, err)
		}
		got := make([]byte, len(c.text))
		if _, err := f.ReadAt(got, c.off); len(got) > 0 && (err != nil || string(got) != c.text) {
			t.Errorf("read %q, %v; wrote %q", got, err, c.text)
		}
	}
	b := []byte("allocates nothing")
	if n := leastAllocs(10, func() { WriteDurably(f, b, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	r, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := WriteDurably(r, b, 0); n != 0 || err != unix.EBADF {
		t.Errorf("to a file that is open for reading: %d, %v", n, err)
	}
}

func writable(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestWriteVec(t *testing.T) {
	for _, mode := range []WriteMode{0, WriteDurable, WriteUncached} {
		f := writable(t)
		var want []byte
		for _, c := range []struct{ a, b string }{{"one", ""}, {"", "two"}, {"three", "four"}, {"", ""}} {
			n, err := WriteVec(f, []byte(c.a), []byte(c.b), int64(len(want)), mode)
			if mode == WriteUncached && NoSuchWrite(err) {
				t.Log("no RWF_DONTCACHE here: ", err)
				break
			}
			if n != len(c.a)+len(c.b) || err != nil {
				t.Fatalf("mode %#x: %d, %v", mode, n, err)
			}
			want = append(append(want, c.a...), c.b...)
		}
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("mode %#x: %q, %v; want %q", mode, got, err, want)
		}
	}
}

// The offset is a whole 64-bit number.
func TestWriteVecFar(t *testing.T) {
	f := writable(t)
	const far = 5 << 32
	if n, err := WriteVec(f, []byte("far "), []byte("away"), far, 0); n != 8 || err != nil {
		t.Skipf("%d, %v", n, err)
	}
	got := make([]byte, 8)
	if _, err := f.ReadAt(got, far); err != nil || string(got) != "far away" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWriteVecFails(t *testing.T) {
	f := writable(t)
	r, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, mode := range []WriteMode{0, WriteDurable} {
		if n, err := WriteVec(r, []byte("a"), []byte("b"), 0, mode); n != 0 || err != unix.EBADF {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n, err := WriteVec(f, []byte("a"), nil, 0, 1<<20); n != 0 || !NoSuchWrite(err) {
		t.Errorf("a flag that there is not: %d, %v", n, err)
	}
}

func TestWriteVecAllocates(t *testing.T) {
	f := writable(t)
	a, b := []byte("some"), []byte("bytes")
	for _, mode := range []WriteMode{0, WriteDurable} {
		if n := leastAllocs(5, func() { WriteVec(f, a, b, 0, mode) }); n != 0 {
			t.Errorf("mode %#x: %v allocations", mode, n)
		}
	}
}
