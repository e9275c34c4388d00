package sys

import (
	"testing"
	"unsafe"
)

func TestAlignedBuffer(t *testing.T) {
	for _, align := range []int{1, 8, 512, 4096, 65536} {
		b := AlignedBuffer(100, align)
		if len(b) != 100 || cap(b) != 100 || !aligned(b, align) {
			t.Errorf("align %d: len %d, cap %d", align, len(b), cap(b))
		}
	}
}

func aligned(b []byte, align int) bool {
	return uintptr(unsafe.Pointer(&b[0]))%uintptr(align) == 0
}
