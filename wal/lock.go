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

// lockDir locks the log: flock(2) on LOCK, which the kernel releases with the
// process, so that a leftover file locks nothing. The file holds the process id,
// for the error of another process.
func lockDir(d sys.Dir, dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	for range 100 {
		f, err := d.CreateFile(lockName, path, 0o666, sys.CreateOpen)
		if err != nil {
			if there, lerr := os.Lstat(path); lerr == nil && !there.Mode().IsRegular() {
				return nil, irregular(path, there.Mode())
			}
			return nil, pathError("open", path, err)
		}
		opened, err := f.Stat()
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("wal: %w", err)
		case !opened.Mode().IsRegular():
			f.Close()
			return nil, irregular(path, opened.Mode())
		}
		got, err := sys.TryLock(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return f, nil // off Linux there is no lock
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("wal: %w", err)
		case !got:
			holder := readHolder(f)
			f.Close()
			return nil, fmt.Errorf("wal: open %s: %w by %s", dir, ErrLocked, holder)
		}
		// The file may have been removed between open and lock. Then the lock
		// excludes no other process.
		named, err := os.Lstat(path)
		if err == nil && os.SameFile(named, opened) {
			writeHolder(f)
			return f, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("wal: %w", err)
		}
	}
	return nil, fmt.Errorf("wal: open %s: %w by a process that replaces %s", dir, ErrLocked, lockName)
}

// unlockDir releases the lock. The file stays: if it were removed, two
// processes could lock two files.
//
// Closing it is not enough: between fork(2) and execve(2) a child process holds
// a copy of every descriptor, and a lock lasts as long as the last copy.
func unlockDir(f *os.File) error {
	return errors.Join(f.Truncate(0), sys.Unlock(f), f.Close())
}

// writeHolder writes the process id. It ignores errors: a log on a full disk
// opens.
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
