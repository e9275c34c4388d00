package mkdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/filetest"
)

func umask(m int) (restore func()) {
	old := syscall.Umask(m)
	return func() { syscall.Umask(old) }
}

// readOnlyFS returns a read-only file system that holds one directory.
func readOnlyFS(t *testing.T, name string) string {
	t.Helper()
	dir := filetest.Tmpfs(t, 0, "size=1m")
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

// born returns the birth time of dir, 0 if the file system has none.
func born(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_BTIME, &st); err != nil {
		t.Fatal(err)
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// hasHandles reports whether directories have handles, which tell them apart.
func hasHandles(dir string) bool {
	const handleFID = 0x200 // AT_HANDLE_FID, Linux 6.5
	_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, dir, handleFID)
	if err == unix.EINVAL {
		_, _, err = unix.NameToHandleAt(unix.AT_FDCWD, dir, 0)
	}
	return err == nil
}

// bind mounts dir at another directory.
func bind(t *testing.T, dir, at string) {
	t.Helper()
	if err := syscall.Mount(dir, at, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("cannot bind: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
