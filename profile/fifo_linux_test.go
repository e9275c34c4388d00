package profile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/profile"
)

// A file that is not regular is reported at once, with its kind.
func TestLoadOfOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path is short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	in := filepath.Join("directory", profile.FileName)
	if err := errors.Join(unix.Mkfifo("fifo", 0o600), os.Symlink("fifo", "link"), os.MkdirAll(in, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"fifo": "fifo: a pipe", "link": "link: a pipe", "socket": "socket: a socket", "directory": in + ": a directory"} {
		if _, err := profile.Load(name); err == nil || !strings.Contains(err.Error(), want+"; want a regular file") {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
}

// Load does not wait for a FIFO in place of a profile.
func TestLoadMeetsFIFO(t *testing.T) {
	dir := t.TempDir()
	name, fifo := filepath.Join(dir, "profile"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(name, []byte(`{"schema":"`+profile.Schema+`"}`), 0o600), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, fifo, unix.RENAME_EXCHANGE); err != nil {
				stopped <- err
				return
			}
		}
	}()
	loaded, refused := 0, 0
	for range 20000 {
		switch _, err := profile.Load(name); {
		case err == nil:
			loaded++
		case errors.Is(err, fs.ErrInvalid):
			refused++
		default:
			t.Error(err)
		}
		if loaded > 500 && refused > 500 {
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Skip(err)
	}
	t.Logf("%d times the profile, %d times the FIFO", loaded, refused)
}
