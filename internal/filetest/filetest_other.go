//go:build !linux

package filetest

import "testing"

// AsNobody skips the test.
func AsNobody(t *testing.T, _ func()) {
	t.Helper()
	t.Skip("becoming another user needs Linux")
}

// Tmpfs skips the test.
func Tmpfs(t *testing.T, _ uintptr, _ string) string {
	t.Helper()
	t.Skip("mounting needs Linux")
	return ""
}
