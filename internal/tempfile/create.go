package tempfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// tries is how many names in a row may be taken or locked by others. With 64 random
// bits none is taken, and a sweeper locks a file only for a moment.
const tries = 100

// errTaken is the error of a file system that answers EEXIST for every name.
var errTaken = fmt.Errorf("%d temporary names in a row are taken: %w", tries, syscall.EEXIST)

// errLocked is the error if another process locks each new file first.
var errLocked = fmt.Errorf("every new temporary file is locked by another process: %w", syscall.EBUSY)

// Create creates a file with a new name in dir, locks it, and returns it with the
// name. Errors have no operation and path: the caller adds them.
func Create(dir sys.Dir, pattern string, perm fs.FileMode) (sys.Temp, string, error) {
	last := errLocked
	for range tries {
		name := Name(pattern)
		t, err := dir.CreateTemp(name, perm)
		if errors.Is(err, fs.ErrExist) {
			last = errTaken
			continue
		}
		if err != nil {
			return sys.Temp{}, "", err
		}
		// Any error means a file system without locks: see the package comment.
		if locked, err := t.TryLock(); locked || err != nil {
			return t, name, nil
		}
		t.Close()
		dir.Remove(name) // if that fails, the sweeper removes it
		last = errLocked
	}
	return sys.Temp{}, "", last
}

// Symlink creates a symlink to target with a new name in dir, and returns the name.
// It cannot be locked: Sweep goes by its age.
func Symlink(dir sys.Dir, pattern, target string) (string, error) {
	for range tries {
		name := Name(pattern)
		if err := dir.Symlink(target, name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", errTaken
}

// Lock takes the lock on f, which is about to get, or has just got, a temporary
// name. It reports false if a sweeper was faster: the caller must then remove the
// name and take another file or name. On a file system without locks it reports
// true.
func Lock(f *os.File) bool {
	locked, err := sys.TryLock(f)
	return locked || err != nil
}
