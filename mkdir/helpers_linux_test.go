package mkdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func umask(m int) (restore func()) {
	old := syscall.Umask(m)
	return func() { syscall.Umask(old) }
}

// mountTmpfs mounts a tmpfs for the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("cannot mount a tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// readOnlyFS returns a read-only file system that holds one directory.
func readOnlyFS(t *testing.T, name string) string {
	t.Helper()
	dir := mountTmpfs(t, "size=1m")
	if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return dir
}

func remountInodes(t *testing.T, dir string, n int) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, fmt.Sprint("nr_inodes=", n)); err != nil {
		t.Fatal(err)
	}
}

func hasBirthTimes(t *testing.T, dir string) bool {
	t.Helper()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &st); err != nil {
		t.Fatal(err)
	}
	return st.Mask&unix.STATX_BTIME != 0
}
