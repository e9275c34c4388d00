package header

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// shift is the strategy Shift: the file's extents move by whole blocks, so
// that a head is there which was not, or one is no longer. It costs as much as
// the file has extents, and the cost of the next read: what of the file was in
// the page cache is dropped by the kernel.
//
// A shift is not atomic over a power cut (see shiftPlan.judge), and a kill
// between the shift and the write of the head leaves a hole. So what is about
// to be done is noted first. At level Power the order is:
//
//	fsetxattr intent, fsync       from here on Recover makes it old
//	fallocate, pwrite, fsync      from here on, new
//	fsetxattr record, fremovexattr intent
//
// The last two need not be durable, as with a slot. ext4 and XFS never have a
// part of the shift without the intent, also at level Kill, as both are in the
// journal, and in this order. Elsewhere nothing was shown, so there level
// Power takes another way.
func (t *target) shift(e *edit, o Options) (Result, error) {
	layout, err := sys.LayoutOf(t.f)
	if err != nil {
		return Result{}, &fs.PathError{Op: "statfs", Path: t.shown, Err: err}
	}
	switch {
	case !layout.Shifts():
		return Result{}, unsuited("this file system does not shift extents", nil)
	case o.Level == durability.Power && !sys.OrdersData(t.f):
		return Result{}, unsuited("this file system's journal is not known to put the intent before the shift", nil)
	}
	extra, err := e.extraFor(layout.Block)
	if err != nil {
		return Result{}, err
	}
	head, rec := e.finish(extra)
	var value []byte
	if rec != nil && e.moot == nil {
		value = rec.encode(sys.Inode(t.info))
	}
	s := shifter{f: t.f, block: layout.Block, record: value, sync: o.Level == durability.Power}
	if o.KeepTimes {
		s.last = func() error { return withFD(t.f, t.restoreTimes) }
	}
	switch {
	case len(head) > len(e.old) && bytes.HasSuffix(head, e.old):
		err = s.insert(head[:len(head)-len(e.old)])
	case len(head) < len(e.old) && bytes.HasSuffix(e.old, head):
		err = s.remove(int64(len(e.old) - len(head)))
	default:
		return Result{}, unsuited("the old head would not only move", nil)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{
		Strategy: Shift,
		Promise:  durability.Promise{Level: o.Level},
		Header:   e.header, Pad: padding(e, head, rec), Moved: e.grow() + extra,
	}, nil
}

// A shifter shifts one file, which is locked.
type shifter struct {
	f      *os.File
	block  int64
	record []byte // the file's record afterwards, empty for none
	sync   bool
	last   func() error // unless nil, what is to be done before the intent goes
}

// insert puts head before the content.
func (s *shifter) insert(head []byte) error {
	in := &intent{kind: insertShift, record: s.record}
	fi, err := s.f.Stat()
	if err != nil {
		return err
	}
	if err := s.plan(&in.shift, fi.Size(), 0, head); err != nil {
		return err
	}
	return s.run(in, func() error {
		if err := sys.InsertRange(s.f, 0, int64(len(head))); err != nil {
			return err
		}
		_, err := s.f.WriteAt(head, 0)
		return bare(err)
	})
}

// remove takes the first n bytes out.
func (s *shifter) remove(n int64) error {
	in := &intent{kind: collapseShift, record: s.record}
	fi, err := s.f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, n)
	if _, err := s.f.ReadAt(head, 0); err != nil {
		return err
	}
	if err := s.plan(&in.shift, fi.Size()-n, n, head); err != nil {
		return err
	}
	return s.run(in, func() error { return sys.CollapseRange(s.f, 0, n) })
}

// plan notes the file, whose base has the given size and begins at off.
func (s *shifter) plan(p *shiftPlan, base, off int64, head []byte) error {
	if base <= 0 {
		return unsuited("there is no content to shift", nil)
	}
	if base > maxSize/2 {
		return unsuited(fmt.Sprintf("%d bytes are more than an intent is for", base), nil)
	}
	if len(head) == 0 || int64(len(head))%s.block != 0 {
		return unsuited(fmt.Sprintf("%d bytes are not whole blocks of %d", len(head), s.block), nil)
	}
	*p = shiftPlan{block: s.block, base: base}
	for b := head; len(b) > 0; b = b[s.block:] {
		p.head = append(p.head, sum(b[:s.block]))
	}
	m, err := readMap(s.f, s.block)
	if err != nil {
		return err
	}
	at := off / s.block
	p.data = cut(m.blocks, at, at+p.end())
	p.ahead = len(cut(m.blocks, at+p.end(), maxSize)) > 0
	if len(p.data) == 0 {
		return unsuited("the content is one hole", nil)
	}
	p.first, err = checksum(s.f, off, p.firstLen())
	return err
}

// run does what in says.
func (s *shifter) run(in *intent, do func() error) error {
	if err := writeIntent(s.f, in); err != nil {
		return err
	}
	if s.sync {
		if err := sys.SyncAll(s.f); err != nil {
			return s.fail("sync", errors.Join(err, clearIntent(s.f)))
		}
	}
	if err := do(); err != nil {
		return s.undo(err)
	}
	if s.sync {
		if err := sys.SyncAll(s.f); err != nil {
			// A failed sync is final: what the disk has, only Recover can say.
			return s.fail("sync", fmt.Errorf("%w: %w", ErrInterrupted, err))
		}
	}
	err := setRecord(s.f, s.record)
	if err == nil && s.last != nil {
		err = s.last()
	}
	if err == nil {
		err = clearIntent(s.f)
	}
	if err != nil {
		return s.fail("end", fmt.Errorf("%w: %w", ErrInterrupted, bare(err)))
	}
	return nil
}

// undo takes back what failed half-way.
func (s *shifter) undo(cause error) error {
	state, err := recoverLocked(s.f)
	switch {
	case err != nil:
		return s.fail("shift", fmt.Errorf("%w: %w, and then: %w", ErrInterrupted, cause, err))
	case state == New:
		return nil // all was there in spite of the error
	case sys.CannotShift(cause):
		return unsuited("the file system does not shift this file", cause)
	}
	return s.fail("shift", cause)
}

func (s *shifter) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: s.f.Name(), Err: err}
}
