package sys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
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

	// Beyond the end of the file there is an error, and no signal.
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

func TestAttributes(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	long := bytes.Repeat([]byte("x"), 900) // longer than the first buffer
	if err := SetAttr(fd, "user.long", long); NoRoomForAttr(err) {
		t.Skip("no attributes of users here: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if got, err := GetAttr(fd, "user.long"); err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := GetAttr(fd, "user.none"); !NoXattr(err) {
		t.Errorf("%v", err)
	}
}

// What OpenExact opens is not left non-blocking, which would make package os
// try the runtime's poller.
func TestOpenExactFlags(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenExact(name, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags := FlagsOf(t, f); flags&unix.O_NONBLOCK != 0 || flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("flags %#x", flags)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		_, err := OpenExact(fifo, write)
		if e, ok := errors.AsType[*NotRegularError](err); !ok || e.Mode != fs.ModeNamedPipe {
			t.Errorf("a FIFO: %v", err)
		}
	}
}
