//go:build !linux

package mkdir

import (
	"io/fs"
	"os"
)

// All is os.MkdirAll. The directories survive kill -9, not a power cut
// (durability.Kill); a crash during All leaves the path up to some level
// (durability.Prefix).
func All(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }
