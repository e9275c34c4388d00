package tempfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// tries is how many names in a row may be taken or locked by others. Of 64
// random bits none is taken, and a sweeper locks a file for a moment only.
const tries = 100

// errLocked: some other process takes the lock on each new file.
var errLocked = fmt.Errorf("every new temporary file is locked by another process: %w", syscall.EBUSY)

// Create makes a file with a new name in dir, locked, and returns it with the
// name. Errors are bare.
func Create(dir sys.Dir, pattern string, perm fs.FileMode) (sys.Temp, string, error) {
	for range tries {
		name := Name(pattern)
		t, err := dir.CreateTemp(name, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return sys.Temp{}, "", err
		}
		// An error other than "held by somebody else" is of a file system
		// without locks: see the package comment.
		if locked, err := t.TryLock(); locked || err != nil {
			return t, name, nil
		}
		t.Close()
		dir.Remove(name) // unless the sweeper does
	}
	return sys.Temp{}, "", errLocked
}

// Lock takes the lock on f, which is about to get, or has just got, a
// temporary name. It reports false if a sweeper was faster: then remove the
// name, and take another file or name. On a file system without locks it
// reports true.
func Lock(f *os.File) bool {
	locked, err := sys.TryLock(f)
	return locked || err != nil
}
