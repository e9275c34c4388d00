package wal

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLocked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("off Linux there is no lock")
	}
	dir := filepath.Join(t.TempDir(), "log")
	if err := Locked(dir); err != nil {
		t.Errorf("no directory: %v", err)
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Locked(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("an open log: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Locked(dir); err != nil {
		t.Errorf("a closed log: %v", err)
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
