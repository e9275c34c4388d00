package header

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// fill writes the content of the new file.
func (t *target) fill(f content, e *edit, p *plan, how Strategy) error {
	return control(f, func(fd int) error {
		if how == Clone {
			return t.fillShared(fd, e, p)
		}
		return t.fillCopied(fd, p, how)
	})
}

// fillShared makes the new file share the blocks of the old one.
func (t *target) fillShared(fd int, e *edit, p *plan) error {
	head := p.head
	if p.from > e.oldLen { // the bytes before the first whole block
		between, err := t.read(e.oldLen, p.from-e.oldLen)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		head = append(head, between...)
	}
	// Clone first: that may be impossible.
	if err := sys.CloneTail(fd, p.to, t.f, p.from); err != nil {
		if sys.Absent(err) || err == syscall.EPERM || err == syscall.ETXTBSY {
			return notApplicable("the blocks of this file cannot be shared", err)
		}
		return fmt.Errorf("clone: %w", err)
	}
	return writeAt(fd, head, 0)
}

func writeAt(fd int, b []byte, off int64) error {
	if _, err := sys.WriteAt(fd, b, off); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// fillCopied copies the data of the old file and skips its holes.
func (t *target) fillCopied(fd int, p *plan, how Strategy) error {
	pending := p.head // not yet written
	shift := p.to - p.from
	last := p.from // end of the data
	for off := p.from; off < t.size(); {
		start, end, err := sys.NextData(t.f, off, t.size())
		if err != nil {
			return fmt.Errorf("seek: %w", err)
		}
		if start == end {
			break
		}
		if start > off && len(pending) > 0 {
			if err := writeAt(fd, pending, 0); err != nil {
				return err
			}
			pending = nil
		}
		if err := t.copyRange(fd, p, how, pending, start, end-start, shift); err != nil {
			return err
		}
		pending, off, last = nil, end, end
	}
	if err := writeAt(fd, pending, 0); err != nil {
		return err
	}
	if last == t.size() {
		return nil
	}
	if err := sys.Truncate(fd, p.size); err != nil { // it ends in a hole
		return fmt.Errorf("truncate: %w", err)
	}
	return nil
}

// copyRange copies n bytes of the old file at off, and writes head, which may be
// empty, before them.
func (t *target) copyRange(fd int, p *plan, how Strategy, head []byte, off, n, shift int64) error {
	whole := int64(len(head)) + n
	if whole <= pieceSize && how == Copy { // one write
		return t.copyBuffered(fd, head, off, n, shift)
	}
	if p.layout.FastAllocation() {
		err := sys.Allocate(fd, off+shift-int64(len(head)), whole)
		if err != nil && !sys.Absent(err) {
			return fmt.Errorf("allocate: %w", err)
		}
	}
	if err := writeAt(fd, head, 0); err != nil {
		return err
	}
	if how == KernelCopy {
		done, err := sys.CopyInKernel(fd, off+shift, t.f, off, n)
		switch {
		case err != nil && done == 0 && (sys.Absent(err) || err == syscall.EPERM):
			return notApplicable("copy_file_range", err)
		case err != nil:
			return fmt.Errorf("copy: %w", err)
		case done < n:
			return errShrunk
		}
		return nil
	}
	done, err := sys.CopyMapped(fd, off+shift, t.f, off, n)
	switch {
	case err == nil:
		return nil
	case sys.Unreadable(err): // a read returns the cause, or succeeds where the mapping fails
		return t.copyBuffered(fd, nil, off+done, n-done, shift)
	}
	return fmt.Errorf("write: %w", err)
}

// copyBuffered copies through memory, with head before the copied bytes; a head needs
// to fit a piece together with them.
func (t *target) copyBuffered(fd int, head []byte, off, n, shift int64) error {
	buf := buffers.Get().(*[pieceSize]byte)
	defer buffers.Put(buf)
	lead := copy(buf[:], head)
	for n > 0 || lead > 0 {
		m := int(min(n, int64(len(buf)-lead)))
		if got, err := t.f.ReadAt(buf[lead:lead+m], off); got < m {
			if errors.Is(err, io.EOF) {
				return errShrunk
			}
			return fmt.Errorf("read: %w", bare(err))
		}
		if err := writeAt(fd, buf[:lead+m], off+shift-int64(lead)); err != nil {
			return err
		}
		off, n, lead = off+int64(m), n-int64(m), 0
	}
	return nil
}
