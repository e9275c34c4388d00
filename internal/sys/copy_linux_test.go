package sys

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestCopyMapped(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcde\n"), 5<<20/16)
	dir := t.TempDir()
	name := filepath.Join(dir, "src")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(filepath.Join(dir, "dst"))
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	for _, c := range []struct{ off, to, n int64 }{{0, 0, 5 << 20}, {1, 100, 5<<20 - 1}, {4096, 7, 4<<20 + 1}, {5000, 0, 1}, {100, 3, 0}} {
		if err := dst.Truncate(0); err != nil {
			t.Fatal(err)
		}
		done, err := CopyMapped(int(dst.Fd()), c.to, src, c.off, c.n)
		if done != c.n || err != nil {
			t.Errorf("%+v: %d, %v", c, done, err)
		}
		got := make([]byte, c.n)
		if _, err := dst.ReadAt(got, c.to); err != nil || !bytes.Equal(got, data[c.off:c.off+c.n]) {
			t.Errorf("%+v: other bytes, %v", c, err)
		}
	}

	// Beyond the end of the file the result is an error, not a signal.
	done, err := CopyMapped(int(dst.Fd()), 0, src, 0, 6<<20)
	if !Unreadable(err) || done > 5<<20 {
		t.Errorf("of a file that is too short: %d, %v", done, err)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	if done, err := CopyMapped(int(dst.Fd()), 0, src, 0, 5<<20); !Unreadable(err) || done != 0 {
		t.Errorf("of an empty file: %d, %v", done, err)
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
	if n, err := CopyOn(dst, nil, raw, 2); n != 2 || err != nil { // at dst's own offset, still 0
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
