package sys

import "unsafe"

// AlignedBuffer returns n bytes of memory at an address that is a multiple
// of align, which must be a power of two.
func AlignedBuffer(n, align int) []byte {
	b := make([]byte, n+align)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (align - 1)
	return b[skip : skip+n : skip+n]
}
