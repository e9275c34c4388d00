//go:build !linux

package newfile_test

import "testing"

func mountTmpfs(t *testing.T, _ string) string {
	t.Skip("needs Linux")
	return ""
}

// openDescriptors cannot be counted here.
func openDescriptors(testing.TB) int { return 0 }
