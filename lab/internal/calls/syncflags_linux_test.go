//go:build amd64 || arm64

package calls

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Each way of asking for a sync by a flag is seen, and no other call.
func TestSyncFlags(t *testing.T) {
	s, err := NewSyncFlags()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err) // no tracefs
	}
	skipRefused(t, err)
	defer s.Close()
	dir := t.TempDir()
	open := func(flags int) func() error {
		return func() error {
			f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR|os.O_CREATE|flags, 0o600)
			if err != nil {
				return err
			}
			return f.Close()
		}
	}
	write := func(flags int) func() error {
		return func() error {
			f, err := os.OpenFile(filepath.Join(dir, "g"), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = unix.Pwritev2(int(f.Fd()), [][]byte{[]byte("x")}, 0, flags)
			return err
		}
	}
	for _, c := range []struct {
		name string
		call func() error
		want uint64
	}{
		{"open", open(0), 0}, {"open O_SYNC", open(unix.O_SYNC), 1}, {"open O_DSYNC", open(unix.O_DSYNC), 1},
		{"open O_APPEND", open(unix.O_APPEND), 0},
		{"pwritev2", write(0), 0}, {"pwritev2 RWF_DSYNC", write(unix.RWF_DSYNC), 1}, {"pwritev2 RWF_SYNC", write(unix.RWF_SYNC), 1},
		{"pwritev2 RWF_HIPRI", write(unix.RWF_HIPRI), 0},
	} {
		before := s.Read()
		if err := c.call(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := s.Read() - before; got != c.want {
			t.Errorf("%s: %d calls with a flag, want %d", c.name, got, c.want)
		}
	}
}
