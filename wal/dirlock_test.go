package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLockDir(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("off Linux there is no lock")
	}
	dir := filepath.Join(t.TempDir(), "log")
	if err := Locked(dir); err != nil {
		t.Errorf("no directory: %v", err)
	}
	if _, err := LockDir(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Locked(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("an open log: %v", err)
	}
	if _, err := LockDir(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("an open log: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Locked(dir); err != nil {
		t.Errorf("a closed log: %v", err)
	}

	lock, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a locked directory: %v", err)
	}
	moved := dir + ".old" // the lock goes with the directory
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := Locked(moved); !errors.Is(err, ErrLocked) {
		t.Errorf("a renamed directory: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := Locked(moved); err != nil {
		t.Errorf("an unlocked directory: %v", err)
	}
}

func TestNoLogIsNotExist(t *testing.T) {
	if _, err := Inspect(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Inspect: %v", err)
	}
	if _, err := Verify(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Verify: %v", err)
	}
}
