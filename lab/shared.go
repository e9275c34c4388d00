package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sharedName is the directory of a place, beside those of its blocks, that holds
// what blocks share.
const sharedName = "shared"

// Shared returns a directory of that name, on the file system of Dir, that all
// blocks of a run share: for files that take too long to prepare for each block.
// The first block that calls it calls prepare to fill the directory, and waits until
// all of it is written. If prepare fails, Shared removes the directory and returns
// its error as it is. The directory stays until the run ends, so a block must leave
// it as it found it. Call Shared before the loop.
func (b *B) Shared(name string, prepare func(dir string) error) (dir string, err error) {
	store := b.shared
	if store == "" { // RunOnce: a block by itself
		store = filepath.Join(b.Dir, sharedName)
	}
	dir = filepath.Join(store, name)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	// Under another name until it is whole: this process may be killed.
	part := dir + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o777)); err != nil {
		return "", fmt.Errorf("lab: make a directory that blocks share: %w", err)
	}
	if err := prepare(part); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	if err := errors.Join(os.Rename(part, dir), settle(store)); err != nil {
		return "", fmt.Errorf("lab: prepare a directory that blocks share: %w", err)
	}
	return dir, nil
}
