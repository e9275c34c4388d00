package sys

import (
	"io/fs"
	"os"
	"path/filepath"
)

// openShared is os.OpenFile, but lets the file be renamed and removed while it is
// open (FILE_SHARE_DELETE), as everywhere else: a log renames its segments so.
// os.Root opens files in that form. What it does not open, a symlink out of the
// directory, is opened without.
func openShared(name string, flags int, perm fs.FileMode) (*os.File, error) {
	if root, err := os.OpenRoot(filepath.Dir(name)); err == nil {
		f, err := root.OpenFile(filepath.Base(name), flags, perm.Perm())
		root.Close()
		if err == nil {
			return f, nil
		}
	}
	return os.OpenFile(name, flags, perm)
}
