package fileio

import (
	"math/bits"
	"sync"
	"unsafe"
)

// bufferAlign is where every pooled buffer begins: the page, which satisfies
// O_DIRECT on all but exotic devices (statx(2), stx_dio_mem_align).
const bufferAlign = 4096

// Pooled sizes are powers of two between these. A larger buffer is made when
// it is asked for, and left to the collector.
const (
	minClass = 12 // 4 KiB
	maxClass = 23 // 8 MiB
)

// pools hold *buffer by class. The pointer is what is pooled, so that putting
// a buffer back does not allocate.
var pools [maxClass + 1]sync.Pool

// A buffer is aligned memory. b is what was asked for; its capacity may be
// more, and is the holder's until put.
type buffer struct {
	b []byte
}

// getBuffer returns a buffer of size bytes, which hold whatever they held
// before.
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

// put gives the buffer back. Nothing may use its memory afterwards.
func (b *buffer) put() {
	if class := sizeClass(cap(b.b)); class <= maxClass {
		pools[class].Put(b)
	}
}

// sizeClass is the power of two that holds size bytes.
func sizeClass(size int) int {
	return max(minClass, bits.Len(uint(max(size, 1)-1)))
}

// AlignedBuffer returns n bytes of memory that begin at a page boundary, as
// direct reads and writes want it: with a length and an offset that are
// multiples of the device's block they go to the kernel without a copy. The
// memory is there already, not only promised: on btrfs a direct read into pages
// that nobody has written to yet goes through the page cache, and leaves it and
// more behind there (btrfs_direct_read gives up at the page faults).
func AlignedBuffer(n int) []byte {
	b := make([]byte, n+bufferAlign)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (bufferAlign - 1)
	b = b[skip : skip+n : skip+n]
	for i := 0; i < n; i += bufferAlign {
		b[i] = 0
	}
	return b
}
