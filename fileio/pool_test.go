package fileio

import (
	"sync"
	"testing"
	"unsafe"
)

func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%bufferAlign == 0
}

func TestBuffers(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000, 1 << 20, 8 << 20, 8<<20 + 1} {
		for range 3 {
			buf := getBuffer(size)
			if len(buf.b) != size || size > 0 && !aligned(buf.b) {
				t.Errorf("%d bytes: %d, aligned %v", size, len(buf.b), aligned(buf.b))
			}
			if c := cap(buf.b); c < size || size <= 1<<maxClass && c&(c-1) != 0 {
				t.Errorf("%d bytes have room for %d", size, c)
			}
			buf.put()
		}
		if b := AlignedBuffer(size); len(b) != size || cap(b) != size || size > 0 && !aligned(b) {
			t.Errorf("AlignedBuffer(%d): %d bytes, room for %d", size, len(b), cap(b))
		}
	}
}

// No two users have the same memory.
func TestBuffersAreOnes(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 1000 {
				buf := getBuffer(5000)
				for i := range buf.b {
					buf.b[i] = byte(g)
				}
				for _, c := range buf.b {
					if c != byte(g) {
						t.Error("another user wrote here")
						return
					}
				}
				buf.put()
			}
		})
	}
	wg.Wait()
}

func BenchmarkBuffer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		getBuffer(64 << 10).put()
	}
}
