package newfile_test

import (
	"os"
	"syscall"
	"testing"
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
