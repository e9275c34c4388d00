//go:build !linux

package mkdir_test

import "testing"

func umask(int) (restore func()) { return func() {} }

func readOnlyFS(t *testing.T, _ string) string {
	t.Skip("needs Linux")
	return ""
}

func remountInodes(*testing.T, string, int) {}
