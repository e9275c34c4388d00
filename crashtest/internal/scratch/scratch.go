// Package scratch makes temporary files and directories, in memory if there is
// space.
package scratch

import (
	"errors"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// Containers often have only 64 MB of /dev/shm.
const (
	spaceForFile = 1 << 30
	spaceForDir  = 256 << 20
)

// parent is /dev/shm if it has so many bytes free, and os.TempDir otherwise.
func parent(space int64) string {
	const memory = "/dev/shm"
	if info, err := sys.StatFS(memory); err != nil || info.Free < space {
		return os.TempDir()
	}
	return memory
}

// File returns an empty file that has no name and is opened with flags.
func File(flags int) (*os.File, error) {
	named, err := os.CreateTemp(parent(spaceForFile), "stele-crashtest-")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(named.Name(), flags, 0)
	return f, errors.Join(err, named.Close(), os.Remove(named.Name()))
}

// Dir makes an empty directory, which the caller removes.
func Dir() (string, error) { return os.MkdirTemp(parent(spaceForDir), "stele-crashtest-") }
