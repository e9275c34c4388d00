// Package datafile makes the large files that experiments read and write, and brings
// their pages into a state: in the page cache or not.
package datafile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/internal/memory"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
)

// Sizes in bytes.
const (
	PageSize = 4 << 10
	MiB      = 1 << 20
)

// A File is a file that all blocks of a run share.
type File struct {
	*os.File
	Size int64
	// release, unless nil, unlocks the pages in the page cache.
	release func() error
}

// Close closes the file and unlocks its pages.
func (f *File) Close() error { return errors.Join(f.letGo(), f.File.Close()) }

func (f *File) letGo() error {
	release := f.release
	f.release = nil
	if release == nil {
		return nil
	}
	return release()
}

// Bounds of a large file beside its published size.
const (
	least         = 4 * MiB          // less is not worth testing
	WriteTime     = 20 * time.Second // of writing
	syncEvery     = 128 * MiB        // that are written are synced
	unknownMemory = 1 << 30          // where the system does not tell its free memory
)

// Open opens the shared file name, which fill makes one MiB after the other. It has
// want bytes, but at most a third of the available memory, so that it stays in the
// page cache, a quarter of the free disk, and as much as can be written in WriteTime.
// The metric file_bytes has its size.
func Open(b *lab.B, name string, want int64, fill func(p []byte)) (*File, error) {
	dir, err := b.Shared(fmt.Sprintf("%s-%d", name, want), func(dir string) error {
		size, err := sizeFor(dir, want)
		if err != nil {
			return err
		}
		return Write(filepath.Join(dir, name), size, fill)
	})
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b.Report("file_bytes", float64(info.Size()))
	return &File{File: f, Size: info.Size()}, nil
}

func sizeFor(dir string, want int64) (int64, error) {
	available, known := memory.Available()
	if !known {
		available = unknownMemory
	}
	size := min(want, available/3)
	info, err := sys.StatFS(dir)
	switch {
	case err == nil:
		size = min(size, info.Free/4)
	case !errors.Is(err, errors.ErrUnsupported):
		return 0, err
	}
	size -= size % MiB
	if size < min(want-want%MiB, least) {
		return 0, job.Unsupported("no room for a file of %s; want free disk for four and available memory for three of them", units.Decimal(least))
	}
	return size, nil
}

// Write makes a file of size bytes, or as many as can be written in WriteTime, and
// syncs it.
func Write(name string, size int64, fill func(p []byte)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	chunk, begun := make([]byte, MiB), time.Now()
	for done := int64(0); done < size && err == nil; done += int64(len(chunk)) {
		if done >= least && time.Since(begun) > WriteTime {
			break
		}
		fill(chunk)
		_, err = f.Write(chunk)
		if err == nil && done%syncEvery == 0 { // so that the time is that of the disk
			err = f.Sync()
		}
	}
	// Only what is written back can be taken out of the page cache again.
	return errors.Join(err, f.Sync(), f.Close())
}

// Mapped calls use with a mapping of the whole file, whose pages are in the page table
// already.
func (f *File) Mapped(use func(data []byte) error) error {
	data, err := sys.Mmap(f.File, int(f.Size), true)
	if err != nil {
		return err
	}
	return errors.Join(use(data), sys.Munmap(data))
}

// MappedBare is Mapped with an empty page table: each first access of a page is a fault.
func (f *File) MappedBare(use func(data []byte) error) error {
	data, err := sys.Mmap(f.File, int(f.Size), false)
	if err != nil {
		return err
	}
	return errors.Join(use(data), sys.Munmap(data))
}
