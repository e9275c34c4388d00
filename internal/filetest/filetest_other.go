//go:build !linux

package filetest

import "testing"

// AsNobody skips the test.
func AsNobody(t *testing.T, _ func()) {
	t.Helper()
	t.Skip("becoming another user needs Linux")
}
