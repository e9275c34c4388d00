package sys

import (
	"errors"
	"fmt"
	"io/fs"
)

// OpenToSync opens a directory by open for reading, which fsync(2) needs. If only
// that permission is missing, the error says so.
func OpenToSync(path string, open func(string, DirUse) (Dir, error)) (Dir, error) {
	d, err := open(path, ForSync)
	if !errors.Is(err, fs.ErrPermission) {
		return d, err
	}
	if without, e := open(path, ForPath); e == nil {
		without.Close()
		return d, fmt.Errorf("%w: level power opens a directory for reading, to sync it: grant read permission, or set Options.Level to durability.Kill", err)
	}
	return d, err
}
