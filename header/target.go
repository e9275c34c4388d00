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

// A target is a file that is to be changed, under its lock.
type target struct {
	place
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
// Of an interrupted change it makes an end first. The lock is waited for until
// ctx is done, or for so long, unless that is 0.
func lockTarget(ctx context.Context, name string, write bool, o Options, wait time.Duration) (*target, error) {
	p := patience{most: wait}
	return acquire(ctx, name, write, o, func(f *os.File) error { return lockFile(ctx, f, &p) })
}

// lockIfFree is lockTarget, but errBusy if it would wait.
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
			write = true // to be opened anew
			return true, nil
		}
		if t.state, err = recoverLocked(t.f); err == nil {
			t.info, err = t.f.Stat()
		}
		return false, err
	})
}

// locked locks the file, and has begin look at it, which may ask for the same
// again for writing.
func locked(ctx context.Context, name string, write bool, o Options, lock func(*os.File) error, begin func(t *target) (again bool, err error)) (*target, error) {
	p, err := o.locate(name)
	if err != nil {
		return nil, err
	}
	for range maxMoves {
		t, err := tryTarget(p, write, lock)
		if err != nil {
			p.close()
			return nil, err
		}
		if err := ctx.Err(); err != nil { // after the lock was tried, so that a refused one names its holder
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
	return nil, fmt.Errorf("replaced %d times while its lock was waited for: %w", maxMoves, syscall.EBUSY)
}

// tryTarget returns nil if path led to another file in the end.
func tryTarget(p place, write bool, lock func(*os.File) error) (*target, error) {
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
	t := &target{place: p, f: f}
	if t.info, err = f.Stat(); err != nil {
		return nil, bare(err)
	}
	if !t.info.Mode().IsRegular() { // it was, a moment ago
		return nil, errIrregular
	}
	switch err := lock(f); {
	case errors.Is(err, syscall.EBADF) && !write:
		return tryTarget(p, true, lock)
	case errors.Is(err, errors.ErrUnsupported) && !locking:
	case errors.Is(err, errBusy), isLocked(err):
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
	t.info = now // size and times as of after the lock
	done = true
	return t, nil
}

// interrupted reports whether a crash has left an intent at the file.
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

// close drops the lock, after what has been changed has its name.
func (t *target) close() {
	t.f.Close()
	t.place.close()
}

// withFD calls do with the descriptor of f, which stays open meanwhile. It does
// not allocate: the compiler sees through SyscallConn of an *os.File.
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
