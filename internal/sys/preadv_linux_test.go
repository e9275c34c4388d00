package sys

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOpenRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRead(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&(unix.O_NONBLOCK|unix.O_ACCMODE|unix.O_DIRECT) != unix.O_RDONLY {
		t.Errorf("flags %#x, %v", flags, err)
	}
	if fdFlags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || fdFlags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v", fdFlags, err)
	}
	if d, err := OpenRead(name, true); err == nil {
		defer d.Close()
		if flags, err := unix.FcntlInt(d.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_DIRECT == 0 {
			t.Errorf("flags of a direct one %#x, %v", flags, err)
		}
	} else if !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
	if _, err := OpenRead(filepath.Join(dir, "none"), false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		f, err := OpenRead(fifo, false)
		if err == nil {
			f.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("waits for a writer of the FIFO")
	}
}

func TestPread(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRead(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4)
	for _, c := range []struct {
		off  int64
		want string
		err  error
	}{{0, "0123", nil}, {8, "89", nil}, {10, "", nil}, {1 << 40, "", nil}, {-1, "", unix.EINVAL}} {
		n, err := Pread(f, b, c.off)
		if string(b[:n]) != c.want || err != c.err {
			t.Errorf("Pread at %d: %q, %v", c.off, b[:n], err)
		}
		n, err = PreadFlags(f, b, c.off, 0)
		// preadv2(2): -1 is the current position.
		if c.off >= 0 && (string(b[:n]) != c.want || err != c.err) {
			t.Errorf("PreadFlags at %d: %q, %v", c.off, b[:n], err)
		}
	}
	if n, err := PreadFlags(f, nil, 0, 0); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := PreadFlags(f, b, 0, 1<<30); err != unix.EOPNOTSUPP || n != 0 {
		t.Errorf("a flag that there is not: %d, %v", n, err)
	}
	if n, err := PreadFlags(f, b, 0, ReadNoWait); err == nil && string(b[:n]) != "0123" {
		t.Errorf("without waiting: %q", b[:n])
	}
	for _, a := range []int{AdviseNormal, AdviseRandom, AdviseSequential, AdviseWillNeed, AdviseDontNeed, AdviseNoReuse} {
		if err := Fadvise(f, 0, 10, a); err != nil {
			t.Errorf("advice %d: %v", a, err)
		}
	}
	if err := Fadvise(f, 0, 10, 99); err != unix.EINVAL {
		t.Error(err)
	}
	f.Close()
	if _, err := Pread(f, b, 0); err == nil {
		t.Error("read from a closed file")
	}
	if n := leastAllocs(100, func() { PreadFlags(f, b, 0, 0) }); n > 0 {
		t.Errorf("PreadFlags allocates %v times", n)
	}
}

func TestMmap(t *testing.T) {
	page := os.Getpagesize()
	want := bytes.Repeat([]byte("stele"), 2*page)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRead(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, populate := range []bool{false, true} {
		mem, err := Mmap(f, len(want), populate)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mem, want) {
			t.Error("other bytes")
		}
		for _, part := range [][]byte{mem, mem[100 : page+200], mem[:0]} {
			for _, a := range []int{MemNormal, MemRandom, MemSequential, MemWillNeed, MemDontNeed, MemPopulate} {
				if err := Madvise(part, a); err != nil {
					t.Errorf("advice %d on %d bytes: %v", a, len(part), err)
				}
			}
		}
		if err := Madvise(mem, 9999); err != unix.EINVAL {
			t.Error(err)
		}
		if err := Munmap(mem); err != nil {
			t.Error(err)
		}
	}
	if _, err := Mmap(f, 0, false); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}
