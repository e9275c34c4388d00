package header_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// home returns a directory whose files can have user attributes.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Setxattr(dir, "user.stele-test", []byte("x"), 0); err == nil {
		return dir
	}
	if more := images(); len(more) > 0 {
		return more[0].dir
	}
	t.Skip("the directory for temporary files has no user attributes (TMPDIR chooses another)")
	return ""
}
