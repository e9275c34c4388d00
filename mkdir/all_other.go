//go:build !linux

package mkdir

import (
	"io/fs"
	"os"
)

// All is os.MkdirAll. What it made survives kill -9, not a power cut
// (durability.Kill); a crash in the middle leaves the path up to some level
// (durability.Prefix).
func All(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }
