package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

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
