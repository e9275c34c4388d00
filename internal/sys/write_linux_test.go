package sys

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

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

func TestPreallocateKeepsSize(t *testing.T) {
	f := writable(t)
	if err := Preallocate(f, 0, 1<<20); err != nil {
		t.Skip(err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 0 || AllocatedBytes(info) < 1<<20 {
		t.Errorf("%d bytes, %d allocated, %v", info.Size(), AllocatedBytes(info), err)
	}
	if err := SyncRange(f, 0, 1<<20); err != nil {
		t.Error(err)
	}
}

func TestOpenFlags(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		flags            int
		appends, durable bool
	}{
		{0, false, false}, {os.O_APPEND, true, false}, {os.O_SYNC, false, true}, {unix.O_DSYNC, false, true}, {unix.O_DSYNC | os.O_APPEND, true, true},
	} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|c.flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		want := Opened{Write: true, Append: c.appends, Durable: c.durable}
		if got, err := OpenedFor(f); got != want || err != nil {
			t.Errorf("%#x: %+v, %v", c.flags, got, err)
		}
		f.Close()
		if got, err := OpenedFor(f); got != (Opened{}) || err != os.ErrClosed {
			t.Errorf("of a closed file: %+v, %v", got, err)
		}
	}
	for flags, want := range map[int]Opened{
		os.O_RDONLY: {Read: true}, os.O_WRONLY: {Write: true}, os.O_RDWR: {Read: true, Write: true}, unix.O_PATH: {},
	} {
		f, err := os.OpenFile(name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := OpenedFor(f); got != want || err != nil {
			t.Errorf("%#x: %+v, %v; want %+v", flags, got, err, want)
		}
		f.Close()
	}
}

func TestCopyOn(t *testing.T) {
	src, dst := writable(t), writable(t)
	if _, err := src.WriteString("0123456789"); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Seek(2, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	raw, err := src.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	to := int64(3)
	n, err := CopyOn(dst, &to, raw, 4)
	if NoKernelCopy(err) {
		t.Skip(err)
	}
	if n != 4 || err != nil || to != 7 {
		t.Fatalf("%d, %v, then at %d", n, err, to)
	}
	if n, err := CopyOn(dst, nil, raw, 2); n != 2 || err != nil { // at dst's own offset, which is 0 still
		t.Fatalf("%d, %v", n, err)
	}
	if got, err := os.ReadFile(dst.Name()); err != nil || string(got) != "67\x002345" {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := CopyOn(dst, nil, raw, 100); n != 2 || err != nil {
		t.Errorf("%d, %v; 2 bytes are left", n, err)
	}
	if n, err := CopyOn(dst, nil, raw, 100); n != 0 || err != nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
	other, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	raw, err = other.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := CopyOn(dst, nil, raw, 100); n != 0 || !NoKernelCopy(err) {
		t.Errorf("of a device: %d, %v", n, err)
	}
}
