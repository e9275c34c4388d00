package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

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

func TestCachedBytes(t *testing.T) {
	page := int64(os.Getpagesize())
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, 3*page+1), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := CachedBytes(f, 0, 0); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	// Pages just written are there: four, as the last is begun.
	for _, c := range []struct{ off, n, want int64 }{
		{0, 0, 4 * page}, {0, 1, page}, {page, 2 * page, 2 * page}, {page - 1, 2, 2 * page}, {3 * page, 0, page}, {4 * page, page, 0},
	} {
		if got, err := CachedBytes(f, c.off, c.n); got != c.want || err != nil {
			t.Errorf("%d bytes from %d: %d, %v, want %d", c.n, c.off, got, err, c.want)
		}
	}
	f.Close()
	if _, err := CachedBytes(f, 0, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("of a closed file: %v", err)
	}
}
