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

// Mmap is not offered here.
func Mmap(f *os.File, n int, populate bool) ([]byte, error) { return nil, errors.ErrUnsupported }

// MmapMemory is not offered here.
func MmapMemory(n int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Munmap is not offered here.
func Munmap(mem []byte) error { return errors.ErrUnsupported }

// Madvise is not offered here.
func Madvise(mem []byte, advice int) error { return errors.ErrUnsupported }
