package fileio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/stele-go/stele/internal/sys"
)

// alignment is the alignment that direct I/O on a file requires, in bytes, powers of
// two.
type alignment struct {
	mem    int // of the memory address
	offset int // of the offset and the length
}

// accepts reports whether a request can go to the kernel as it is.
func (a alignment) accepts(p []byte, off int64) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(p)))&uintptr(a.mem-1) == 0 &&
		off&int64(a.offset-1) == 0 && len(p)&(a.offset-1) == 0
}

// around returns the smallest range of whole blocks that contains n bytes at off.
func (a alignment) around(off int64, n int) (lo, hi int64) {
	block := int64(a.offset)
	return off &^ (block - 1), (off + int64(n) + block - 1) &^ (block - 1)
}

// directAlignment returns the alignment that the file system reports (statx(2),
// STATX_DIOALIGN, Linux 6.1). If it reports none, directAlignment tries a page, which
// suits the blocks of common devices.
func directAlignment(f *os.File) (alignment, error) {
	st, err := sys.StatFile(f)
	a := alignment{st.DirectMem, st.DirectOffset}
	switch {
	case err != nil:
		return a, err
	case st.DirectKnown && a.offset == 0:
		return a, fmt.Errorf("direct I/O: %w on this file system", errors.ErrUnsupported)
	case st.DirectKnown && (a.mem > bufferAlign || a.offset > directBuffer):
		return a, fmt.Errorf("direct I/O aligned to %d bytes in memory and %d in the file: %w", a.mem, a.offset, errors.ErrUnsupported)
	case st.DirectKnown:
		return a, nil
	}
	buf := getBuffer(bufferAlign)
	defer buf.put()
	if _, err := sys.Pread(f, buf.b, 0); err != nil {
		return a, fmt.Errorf("direct I/O in blocks of %d bytes: %w: %w", bufferAlign, err, errors.ErrUnsupported)
	}
	return alignment{bufferAlign, bufferAlign}, nil
}

// readDirect reads past the page cache. An aligned request goes to the kernel
// unchanged, any other through a pooled buffer of whole blocks.
func (r *Reader) readDirect(p []byte, off int64) (n int, err error) {
	if r.align.accepts(p, off) {
		return r.preadDirect(p, off)
	}
	lo, hi := r.align.around(off, len(p))
	buf := getBuffer(int(min(hi-lo, directBuffer)))
	defer buf.put()
	for n < len(p) {
		at := off + int64(n)
		lo, hi := r.align.around(at, len(p)-n)
		got, err := r.preadDirect(buf.b[:min(hi-lo, int64(len(buf.b)))], lo)
		skip := int(at - lo)
		m := copy(p[n:], buf.b[min(skip, got):got])
		n += m
		if err != nil && n < len(p) {
			return n, err
		}
	}
	return n, nil
}

// preadDirect is pread for whole blocks. A read that ends within a block has reached the
// end of the file; reading on from there would be EINVAL.
func (r *Reader) preadDirect(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		// In parts of whole blocks: the kernel shortens a read of more than 2 GiB to
		// a page boundary (MAX_RW_COUNT), which need not be the end of a block.
		m, err := sys.Pread(r.f, p[n:min(len(p), n+maxBuffer)], off+int64(n))
		n += m
		if err != nil {
			return n, r.offsetError("read", off+int64(n), err)
		}
		if m == 0 || m&(r.align.offset-1) != 0 {
			if n == len(p) {
				break
			}
			return n, io.EOF
		}
	}
	return n, nil
}
