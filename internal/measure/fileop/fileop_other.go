//go:build !linux

package fileop

import (
	"errors"
	"os"
)

// Modes and flags that only Linux has.
const (
	FallocKeepSize = iota
	FallocPunchHole
	FallocCollapse
	FallocZero
	FallocInsert
	FallocUnshare
	FallocWriteZeroes
	WriteAtomic
	WriteDontCache
	WriteDSync
	RenameNoReplace
	RenameExchange
)

// All of them return errors.ErrUnsupported here.

func LinkTmpfile(f *os.File, path string) error                { return errors.ErrUnsupported }
func OpenDirect(path string) (*os.File, error)                 { return nil, errors.ErrUnsupported }
func CreateBeneath(dir *os.File, rel string) (*os.File, error) { return nil, errors.ErrUnsupported }
func Memfd(name string) (*os.File, error)                      { return nil, errors.ErrUnsupported }
func Fallocate(f *os.File, mode uint32, off, n int64) error    { return errors.ErrUnsupported }
func Clone(dst, src *os.File) error                            { return errors.ErrUnsupported }
func CloneRange(dst, src *os.File, off, n int64) error         { return errors.ErrUnsupported }
func CopyFileRange(dst, src *os.File, n int) (int, error)      { return 0, errors.ErrUnsupported }
func WriteFlags(f *os.File, b []byte, o int64, fl int) (int, error) {
	return 0, errors.ErrUnsupported
}
func RenameFlags(from, to string, flags uint) error             { return errors.ErrUnsupported }
func SetXattr(f *os.File, name string, value []byte) error      { return errors.ErrUnsupported }
func GetXattr(f *os.File, name string, buf []byte) (int, error) { return 0, errors.ErrUnsupported }
func SyncFileRange(f *os.File) error                            { return errors.ErrUnsupported }
func Fdatasync(f *os.File) error                                { return errors.ErrUnsupported }
func ErrName(err error) string                                  { return "" }
func Syncfs(dir string) error                                   { return errors.ErrUnsupported }
