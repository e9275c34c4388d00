package fileio_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stele-go/stele/fileio"
)

// stuck returns its bytes, and then 0 bytes without io.EOF until it was called wakes
// times.
type stuck struct {
	has   string
	wakes int
	asked int
}

func (s *stuck) Read(p []byte) (int, error) {
	if n := copy(p, s.has); n > 0 {
		s.has = s.has[n:]
		return n, nil
	}
	if s.asked++; s.asked == s.wakes {
		return copy(p, "woke"), io.EOF
	}
	return 0, nil
}

// ReadFrom gives up after as many empty reads as bufio.
func TestReadFromWithoutProgress(t *testing.T) {
	f := create(t)
	w := newWriter(t, f, fileio.WriterOptions{})
	s := &stuck{has: "some"}
	if n, err := w.ReadFrom(s); n != 4 || !errors.Is(err, io.ErrNoProgress) || s.asked != 100 {
		t.Errorf("%d bytes, %v, after %d attempts", n, err, s.asked)
	}
	ok(t, w.Err())
	if n, err := w.ReadFrom(&stuck{has: "more", wakes: 99}); n != 8 || err != nil {
		t.Errorf("a reader that hesitates: %d bytes, %v", n, err)
	}
	ok(t, w.Close())
	holds(t, f.Name(), []byte("somemorewoke"))
}
