//go:build !linux

package sys

import (
	"errors"
	"os"
)

const (
	MemNormal = iota
	MemRandom
	MemSequential
	MemWillNeed
	MemDontNeed
	MemHuge
	MemCollapse
	MemPopulate
)

// Mmap fails with errors.ErrUnsupported.
func Mmap(f *os.File, n int, populate bool) ([]byte, error) { return nil, errors.ErrUnsupported }

// MmapMemory fails with errors.ErrUnsupported.
func MmapMemory(n int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Munmap fails with errors.ErrUnsupported.
func Munmap(mem []byte) error { return errors.ErrUnsupported }

// Madvise fails with errors.ErrUnsupported.
func Madvise(mem []byte, advice int) error { return errors.ErrUnsupported }
