//go:build !linux

package header

import (
	"io"
)

// fill writes the content of the new file. Holes become zeros here.
func (t *target) fill(f content, e *edit, p *plan, how Strategy) error {
	if how != Copy {
		return notApplicable("it needs Linux", nil)
	}
	if len(p.head) > 0 {
		if _, err := f.Write(p.head); err != nil {
			return err
		}
	}
	buf := buffers.Get().(*[pieceSize]byte)
	defer buffers.Put(buf)
	rest := io.NewSectionReader(t.f, p.from, t.size()-p.from)
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, rest, buf[:])
	if err == nil && n < rest.Size() {
		err = errShrunk
	}
	return err
}
