package iojob

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// A mapping is a file that is read and written by copies from and to a mapping. Syncs are
// those of the file, which write the pages that stores have made dirty.
type mapping struct {
	target
	mem []byte
}

// mapFile maps the file of a job. The kernel is told the pattern, as fio tells it. The
// page table of a warm file is filled, as it is in a program that has run for a while.
func mapFile(j *Job, f *os.File) (m mapping, unmap func() error, err error) {
	n := int(j.Size)
	if int64(n) != j.Size {
		return m, nil, fmt.Errorf("iojob: map %s: %s do not fit in the address space", f.Name(), units.Decimal(float64(j.Size)))
	}
	mem, err := fileop.MapShared(f, n, j.writes(), j.cache() == datafile.Warm)
	if err != nil {
		return m, nil, err
	}
	advice := sys.MemRandom
	if j.Pattern == patternSeq {
		advice = sys.MemSequential
	}
	if err := sys.Madvise(mem, advice); err != nil {
		return m, nil, errors.Join(os.NewSyscallError("madvise", err), sys.Munmap(mem))
	}
	return mapping{targetOf(j, f), mem}, func() error { return sys.Munmap(mem) }, nil
}

func (m mapping) ReadAt(p []byte, off int64) (int, error) {
	return copyMapped("read", p, m.mem[off:], off)
}

func (m mapping) WriteAt(p []byte, off int64) (int, error) {
	return copyMapped("write", m.mem[off:], p, off)
}

// copyMapped copies from or to the mapping. A fault there, of a page that the disk cannot
// read or has no room for, is an error.
func copyMapped(op string, to, from []byte, off int64) (n int, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		switch v := recover().(type) {
		case nil:
		case interface {
			error
			Addr() uintptr
		}:
			n, err = 0, fmt.Errorf("iojob: %s at offset %d of a mapping: %w", op, off, v)
		default:
			panic(v)
		}
	}()
	return copy(to, from), nil
}
