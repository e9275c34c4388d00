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

// errTaken: the file system answers so whatever the name.
var errTaken = fmt.Errorf("%d temporary names in a row are taken: %w", tries, syscall.EEXIST)

// errLocked: some other process takes the lock on each new file.
var errLocked = fmt.Errorf("every new temporary file is locked by another process: %w", syscall.EBUSY)

// Create makes a file with a new name in dir, locked, and returns it with the
// name. Errors are bare.
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
		// An error other than "held by somebody else" is of a file system
		// without locks: see the package comment.
		if locked, err := t.TryLock(); locked || err != nil {
			return t, name, nil
		}
		t.Close()
		dir.Remove(name) // unless the sweeper does
		last = errLocked
	}
	return sys.Temp{}, "", last
}

// Symlink makes a symlink to target with a new name in dir, and returns that.
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

// Lock takes the lock on f, which is about to get, or has just got, a
// temporary name. It reports false if a sweeper was faster: then remove the
// name, and take another file or name. On a file system without locks it
// reports true.
func Lock(f *os.File) bool {
	locked, err := sys.TryLock(f)
	return locked || err != nil
}
