// Package filetest sets up and lists files for tests: files that are not regular, file
// systems in memory, a user without permissions. It also measures how much memory reading
// a hostile file takes, and checks the worked examples of package comments. Only tests
// import it.
package filetest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Irregular returns functions that put something other than a regular file at a name,
// by what they put there: a pipe, a directory, a symlink to a pipe elsewhere, a socket. The
// path of a socket must be short: run the test in t.Chdir(t.TempDir()).
func Irregular(t *testing.T) map[string]func(name string) error {
	return map[string]func(name string) error{
		"a pipe":      func(name string) error { return unix.Mkfifo(name, 0o600) },
		"a directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"a symlink": func(name string) error {
			fifo := filepath.Join(t.TempDir(), "fifo")
			return errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink(fifo, name))
		},
		"a socket": func(name string) error {
			l, err := net.Listen("unix", name)
			if err != nil {
				return err
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			return l.Close()
		},
	}
}

// Tmpfs mounts a tmpfs with the given flags and options for the test, and returns its
// root. It skips the test where that is not possible.
func Tmpfs(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skip("cannot mount a tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// AsNobody calls f with the file permissions of a user who owns nothing, on a thread of
// its own. It skips the test if the process may not become another user.
func AsNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	unix.SetfsuidRetUid(nobody)
	defer unix.SetfsuidRetUid(0)
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != nobody {
		t.Skip("cannot become another user: ", err)
	}
	f()
}
