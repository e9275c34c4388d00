package newfile_test

import (
	"os"
	"testing"
)

func openDescriptors(t testing.TB) int {
	t.Helper()
	// The first open creates two descriptors of the runtime's poller: they then count
	// every time.
	null, err := os.Open(os.DevNull)
	must(t, err)
	must(t, null.Close())
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(fds)
}
