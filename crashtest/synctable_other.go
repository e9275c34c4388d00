//go:build !linux

package crashtest

import "testing"

// SyncTable skips the test: it needs Linux.
func SyncTable(t testing.TB, o Options, w SyncWay, n int) SyncRow {
	t.Helper()
	t.Skip("power cuts need Linux: FUSE under a loop device")
	return SyncRow{}
}
