package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// lockFolder takes the lock of a log: flock(2) on LOCK, which the kernel drops
// with the process, so that a file left behind locks nobody out. The file
// holds the process id, for whoever is refused.
func lockFolder(d sys.Dir, dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	for range 100 {
		f, err := d.CreateFile(lockName, path, 0o666, sys.CreateOpen)
		if err != nil {
			if there, lerr := os.Lstat(path); lerr == nil && !there.Mode().IsRegular() {
				return nil, irregular(path, there.Mode())
			}
			return nil, pathError("open", path, err)
		}
		mine, err := f.Stat()
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("wal: %w", err)
		case !mine.Mode().IsRegular():
			f.Close()
			return nil, irregular(path, mine.Mode())
		}
		got, err := sys.TryLock(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return f, nil // off Linux nobody is kept out
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("wal: %w", err)
		case !got:
			holder := readHolder(f)
			f.Close()
			return nil, fmt.Errorf("wal: open %s: %w by %s", dir, ErrLocked, holder)
		}
		// Somebody may have removed the file that was opened before the lock
		// was taken: then the lock is on nothing.
		named, err := os.Lstat(path)
		if err == nil && os.SameFile(named, mine) {
			writeHolder(f)
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("wal: %w", err)
		}
	}
	return nil, fmt.Errorf("wal: open %s: the file changes whenever it is locked: %w", path, ErrLocked)
}

// unlockFolder gives the lock back. The file stays: to remove it would let
// two processes lock two files.
//
// To close it is not enough: a process that is being started holds a copy of
// every descriptor from its fork(2) to its execve(2), and a lock lasts as long
// as the last copy.
func unlockFolder(f *os.File) error {
	return errors.Join(f.Truncate(0), sys.Unlock(f), f.Close())
}

// writeHolder is help for others, and none is no error: a full disk does not
// keep a log from being opened.
func writeHolder(f *os.File) {
	if f.Truncate(0) == nil {
		f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
}

func readHolder(f *os.File) string {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	text, _, _ := strings.Cut(string(b[:n]), "\n")
	pid, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return "another process"
	case pid == os.Getpid():
		return fmt.Sprintf("this process (%d)", pid)
	}
	return fmt.Sprintf("process %d", pid)
}
