//go:build !linux && !windows

package sys

import (
	"io/fs"
	"os"
)

// openShared is os.OpenFile.
func openShared(name string, flags int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flags, perm)
}
