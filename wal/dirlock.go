package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// A DirLock is the lock of a log that is not open. It excludes every Open of the
// log, for a program that moves or replaces the files.
type DirLock struct {
	d    sys.Dir
	file *os.File
}

// LockDir takes the lock of the log in dir, which exists; it need not have a log.
// The error is ErrLocked, which names the process that has the log open, or that
// of the file system. Off Linux there is no lock, and LockDir takes none.
func LockDir(dir string) (*DirLock, error) {
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	file, err := lockDir(d, dir)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &DirLock{d, file}, nil
}

// Unlock releases the lock. If the directory was renamed, the lock went with it.
func (l *DirLock) Unlock() error {
	if l.file == nil {
		return errUnopened
	}
	if err := errors.Join(unlockDir(l.file), l.d.Close()); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// Locked returns ErrLocked, with the name of the process, if a process has the log
// in dir open, and nil if none has it open or there is no log. It writes nothing.
// By the time it returns, the answer may be another.
func Locked(dir string) error {
	path := filepath.Join(dir, lockName)
	f, err := openFile(path, true) // NFS locks nothing else
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = openFile(path, false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := sys.TryLock(f)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("wal: %w", err)
	case !got:
		return fmt.Errorf("wal: open %s: %w by %s", dir, ErrLocked, readHolder(f))
	}
	return sys.Unlock(f)
}
