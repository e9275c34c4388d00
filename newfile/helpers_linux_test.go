package newfile_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

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

func openDescriptors(t testing.TB) int {
	t.Helper()
	// So that the two of the runtime's poller, made when first needed, count
	// every time.
	null, err := os.Open(os.DevNull)
	must(t, err)
	must(t, null.Close())
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(fds)
}

// asNobody runs f as a user who owns nothing.
func asNobody(t *testing.T, f func()) {
	t.Helper()
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
