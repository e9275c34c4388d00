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

func TestReopen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(name, name+"2"); err != nil {
		t.Fatal(err)
	}
	g, err := Reopen(f, false, true)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if flags, err := unix.FcntlInt(g.Fd(), unix.F_GETFL, 0); err != nil || flags&(unix.O_DSYNC|unix.O_DIRECT) != unix.O_DSYNC || flags&unix.O_ACCMODE != unix.O_WRONLY {
		t.Errorf("flags %#x, %v", flags, err) // for reading, a file of mode 0200 could not be opened
	}
	if _, err := g.Write([]byte("same file")); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(name + "2")
	if err != nil || !bytes.Equal(got, []byte("same file")) {
		t.Errorf("%q, %v", got, err)
	}
}
