//go:build !windows

package peers

import (
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/stele-go/stele/suites/replace"
)

// renameioWays are renameio with its defaults, which checks for each file whether the
// temporary directory is on the same file system, and with a directory given.
func renameioWays() []replace.Way {
	return []replace.Way{
		replaceWay(renameioDefault, "renameio with its defaults, trying TMPDIR for each file",
			func(path string, data []byte) error { return renameio.WriteFile(path, data, filePerm) }),
		replaceWay("renameio.WriteFile, folder given", "renameio with WithTempDir, as it advises for many files",
			func(path string, data []byte) error {
				return renameio.WriteFile(path, data, filePerm, renameio.WithTempDir(filepath.Dir(path)))
			}),
	}
}
