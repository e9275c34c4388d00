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
