package header

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A target is a file to change, locked.
type target struct {
	location
	f     *os.File
	info  fs.FileInfo
	state State // outcome of recovery
}

// maxReplaced is how often in a row a file may be replaced while its lock is being
// taken. Each time another change has succeeded.
const maxReplaced = 10_000

// lockTarget opens the file name, for writing if write is set, locks it, and
// recovers it. The lock belongs to the inode, and a change may have given the name
// another inode during the wait: then lockTarget locks that one. Only the holder of
// the lock of the inode that the name leads to changes the file or the name, among
// users of this package.
//
// lockTarget waits for the lock until ctx is done, or for wait, unless that is 0.
func lockTarget(ctx context.Context, name string, write bool, o Options, wait time.Duration) (*target, error) {
	p := lockTimeout{limit: wait}
	return acquire(ctx, name, write, o, func(f *os.File) error { return lockFile(ctx, f, &p) })
}

// lockIfFree is lockTarget, but returns errLocked where that would wait.
func lockIfFree(ctx context.Context, name string, write bool, o Options) (*target, error) {
	return acquire(ctx, name, write, o, tryLock)
}

func acquire(ctx context.Context, name string, write bool, o Options, lock func(*os.File) error) (*target, error) {
	return locked(ctx, name, write, o, lock, func(t *target) (again bool, err error) {
		interrupted, err := t.interrupted()
		if err != nil || !interrupted {
			return false, err
		}
		if !write {
			write = true // open it again
			return true, nil
		}
		if t.state, err = recoverLocked(t.f); err == nil {
			t.info, err = t.f.Stat()
		}
		return false, err
	})
}

// locked opens and locks the file name, then calls begin, which may ask to repeat
// that for writing.
func locked(ctx context.Context, name string, write bool, o Options, lock func(*os.File) error, begin func(t *target) (again bool, err error)) (*target, error) {
	p, err := o.locate(name)
	if err != nil {
		return nil, err
	}
	for range maxReplaced {
		t, err := tryTarget(p, write, lock)
		if err != nil {
			p.close()
			return nil, err
		}
		if err := ctx.Err(); err != nil { // after the try, so that the error of a refusal names the holder
			if t != nil {
				t.f.Close()
			}
			p.close()
			return nil, err
		}
		if t == nil {
			continue
		}
		again, err := begin(t)
		if again {
			t.f.Close()
			write = true
			continue
		}
		if err != nil {
			t.close()
			return nil, err
		}
		return t, nil
	}
	p.close()
	return nil, fmt.Errorf("replaced %d times while waiting for its lock: %w", maxReplaced, syscall.EBUSY)
}

// tryTarget returns nil if the location held another file once the lock was taken.
func tryTarget(p location, write bool, lock func(*os.File) error) (*target, error) {
	f, err := p.open(write)
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done {
			f.Close()
		}
	}()
	t := &target{location: p, f: f}
	if t.info, err = f.Stat(); err != nil {
		return nil, bare(err)
	}
	if !t.info.Mode().IsRegular() { // it was when it was located
		return nil, errNotRegular
	}
	switch err := lock(f); {
	case errors.Is(err, syscall.EBADF) && !write:
		return tryTarget(p, true, lock)
	case errors.Is(err, errors.ErrUnsupported) && !locking:
	case errors.Is(err, errLocked), isLocked(err):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("lock: %w", err)
	}
	now, err := p.lstat()
	if err != nil {
		return nil, bare(err)
	}
	if !os.SameFile(now, t.info) {
		return nil, nil
	}
	t.info = now // size and times under the lock
	done = true
	return t, nil
}

// interrupted reports whether the file has an intent, which a crash left.
func (t *target) interrupted() (bool, error) {
	_, err := getAttr(t.f, intentName)
	switch {
	case err == nil:
		return true, nil
	case sys.NoXattr(err), sys.NoRoomForAttr(err):
		return false, nil
	}
	return false, fmt.Errorf("read intent: %w", err)
}

func (t *target) size() int64 { return t.info.Size() }

// close drops the lock. It comes after the new file has its name.
func (t *target) close() {
	t.f.Close()
	t.location.close()
}

// withFD calls do with the descriptor of f, which stays open during the call. It does
// not allocate: the compiler inlines SyscallConn of an *os.File.
func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return bare(err)
	}
	if cerr := conn.Control(func(fd uintptr) { err = do(int(fd)) }); cerr != nil {
		return fs.ErrClosed
	}
	return err
}

// read returns n bytes at off. It is an error if the file ends before.
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

// bare removes operation and path from an error, so that they are added only once.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && err == error(pe) {
		return pe.Err
	}
	return err
}
