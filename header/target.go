package header

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// A target is a file that is to be changed, under its lock.
type target struct {
	path  string // where the name leads: no symlink
	f     *os.File
	info  fs.FileInfo
	state State // what came of an interrupted change
}

// maxMoves is how often in a row a file may be replaced by another before its
// lock is had. Each time somebody else has got something done.
const maxMoves = 10_000

// lockTarget opens the file name, for writing if its content is to change in
// place, and locks it. The lock is the inode's, and a change may have given
// the name another inode while this one waited: then that one's lock is
// taken. Whoever holds the lock of the inode that the name leads to is
// the only one, of those who use this package, to change the file or the name.
//
// Of an interrupted change it makes an end first.
func lockTarget(name string, write bool) (*target, error) { return acquire(name, write, sys.Lock) }

// errBusy: somebody else has the lock.
var errBusy = errors.New("the file is locked")

// lockIfFree is lockTarget, but errBusy if it would wait.
func lockIfFree(name string, write bool) (*target, error) {
	return acquire(name, write, func(f *os.File) error {
		ok, err := sys.TryLock(f)
		if err == nil && !ok {
			err = errBusy
		}
		return bare(err)
	})
}

func acquire(name string, write bool, lock func(*os.File) error) (*target, error) {
	path, err := resolve(name)
	if err != nil {
		return nil, err
	}
	for range maxMoves {
		t, err := tryTarget(path, write, lock)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		interrupted, err := t.interrupted()
		if err == nil && interrupted {
			if !write {
				t.f.Close() // to be opened anew
				write = true
				continue
			}
			if t.state, err = recoverLocked(t.f); err == nil {
				t.info, err = t.f.Stat()
			}
		}
		if err != nil {
			t.f.Close()
			return nil, err
		}
		return t, nil
	}
	return nil, fmt.Errorf("replaced %d times while its lock was waited for: %w", maxMoves, syscall.EBUSY)
}

// resolve tells where name leads: to the same, unless that is a symlink.
func resolve(name string) (string, error) {
	fi, err := os.Lstat(name)
	if err != nil {
		return "", bare(err)
	}
	switch fi.Mode().Type() {
	case 0:
		return name, nil
	case fs.ModeSymlink:
		path, err := filepath.EvalSymlinks(name)
		return path, bare(err)
	case fs.ModeDir:
		return "", syscall.EISDIR
	}
	return "", errIrregular
}

var errIrregular = fmt.Errorf("%w: not a regular file", fs.ErrInvalid)

// tryTarget returns nil if path led to another file in the end.
func tryTarget(path string, write bool, lock func(*os.File) error) (*target, error) {
	f, err := sys.OpenExact(path, write)
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			f.Close()
		}
	}()
	t := &target{path: path, f: f}
	if t.info, err = f.Stat(); err != nil {
		return nil, bare(err)
	}
	if !t.info.Mode().IsRegular() { // it was, a moment ago
		return nil, errIrregular
	}
	switch err := lock(f); {
	case errors.Is(err, syscall.EBADF) && !write:
		return tryTarget(path, true, lock)
	case errors.Is(err, errors.ErrUnsupported) && !locking:
	case errors.Is(err, errBusy):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("lock: %w", err)
	}
	now, err := os.Lstat(path)
	if err != nil {
		return nil, bare(err)
	}
	if !os.SameFile(now, t.info) {
		return nil, nil
	}
	t.info = now // size and times as of after the lock
	done = true
	return t, nil
}

// interrupted reports whether a crash has left an intent at the file.
func (t *target) interrupted() (bool, error) {
	_, err := sys.GetAttr(int(t.f.Fd()), intentName)
	switch {
	case err == nil:
		return true, nil
	case sys.NoXattr(err), sys.NoRoomForAttr(err):
		return false, nil
	}
	return false, fmt.Errorf("read intent: %w", err)
}

func (t *target) size() int64 { return t.info.Size() }

// close drops the lock, after what has been changed has its name.
func (t *target) close() { t.f.Close() }

// read returns n bytes at off, which must be there.
func (t *target) read(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := t.f.ReadAt(b, off); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, bare(err)
	}
	return b, nil
}

// bare takes operation and path off an error, which has them put on once.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && err == error(pe) {
		return pe.Err
	}
	return err
}
