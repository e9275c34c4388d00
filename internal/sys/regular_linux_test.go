package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file of OpenExact is not non-blocking, which would make package os try the runtime's
// poller.
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
