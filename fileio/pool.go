package fileio

import (
	"math/bits"
	"sync"
	"unsafe"
)

// bufferAlign is the alignment of every pooled buffer: a page, which satisfies O_DIRECT
// on all but exotic devices (statx(2), stx_dio_mem_align).
const bufferAlign = 4096

// Pooled sizes are powers of two between these. A larger buffer is allocated on demand
// and left to the garbage collector.
const (
	minClass = 12 // 4 KiB
	maxClass = 23 // 8 MiB
)

// pools holds *buffer by class: pointers, so that putting a buffer back does not
// allocate.
var pools [maxClass + 1]sync.Pool

// A buffer is aligned memory. b has the requested length; its capacity may be larger,
// and may be used until put.
type buffer struct {
	b []byte
}

// getBuffer returns a buffer of size bytes, which are not zeroed.
func getBuffer(size int) *buffer {
	class := sizeClass(size)
	if class > maxClass {
		return &buffer{AlignedBuffer(size)}
	}
	if buf, ok := pools[class].Get().(*buffer); ok {
		buf.b = buf.b[:size]
		return buf
	}
	return &buffer{AlignedBuffer(1 << class)[:size]}
}

// put returns the buffer to its pool. Its memory must not be used afterwards.
func (b *buffer) put() {
	if class := sizeClass(cap(b.b)); class <= maxClass {
		pools[class].Put(b)
	}
}

// sizeClass returns the exponent of the power of two that holds size bytes.
func sizeClass(size int) int {
	return max(minClass, bits.Len(uint(max(size, 1)-1)))
}

// AlignedBuffer returns n bytes of memory that begin at a page boundary, so that direct
// reads and writes of it, with a length and an offset that are multiples of the
// device's block size, need no copy. Its pages are already allocated: on btrfs a direct
// read into untouched pages goes through the page cache and leaves pages behind
// (btrfs_direct_read gives up at the page faults).
func AlignedBuffer(n int) []byte {
	b := make([]byte, n+bufferAlign)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (bufferAlign - 1)
	b = b[skip : skip+n : skip+n]
	for i := 0; i < n; i += bufferAlign {
		b[i] = 0
	}
	return b
}
