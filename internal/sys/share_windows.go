package sys

import (
	"io/fs"
	"os"
	"path/filepath"
)

// openShared is os.OpenFile, but lets the file be renamed and removed while it is
// open (FILE_SHARE_DELETE), as on other systems: a log renames open segments. os.Root
// opens files so. A file that it does not open, such as a symlink out of the directory,
// is opened without that flag.
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
