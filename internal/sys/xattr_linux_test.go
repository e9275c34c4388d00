package sys

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// A file system of a user may claim whatever it likes.
func TestSized(t *testing.T) {
	value := func(n int) func([]byte) (int, error) {
		return func(b []byte) (int, error) {
			switch {
			case len(b) == 0:
				return n, nil
			case len(b) < n:
				return 0, unix.ERANGE
			}
			return copy(b, bytes.Repeat([]byte("x"), n)), nil
		}
	}
	for _, n := range []int{0, 1, 256, 257, maxAttr} {
		if b, err := sized(value(n)); len(b) != n || err != nil {
			t.Errorf("of %d bytes: %d, %v", n, len(b), err)
		}
	}
	for _, told := range []int{0, 300, maxAttr, maxAttr + 1} {
		never := func(b []byte) (int, error) {
			if len(b) == 0 {
				return told, nil
			}
			return 0, unix.ERANGE
		}
		if _, err := sized(never); err != unix.E2BIG {
			t.Errorf("that says %d bytes and gives none: %v", told, err)
		}
	}
	if _, err := sized(func([]byte) (int, error) { return 0, unix.ERANGE }); err != unix.ERANGE {
		t.Errorf("that never tells: %v", err)
	}
}
