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

// shift implements the strategy Shift: the file's extents move by whole blocks, to
// insert a head or remove one. The cost grows with the number of extents, and the
// next read is slow: the kernel drops the file's pages from the page cache.
//
// A shift is not atomic over a power cut (see shiftPlan.classify), and a kill
// between the shift and the write of the head leaves a hole. So an intent comes
// first. At level Power the order is:
//
//	fsetxattr intent, fsync       from here on Recover makes it old
//	fallocate, pwrite, fsync      from here on, new
//	fsetxattr record, fremovexattr intent
//
// The last two need not be durable, as with a slot. ext4 and XFS never have a part of
// the shift without the intent, also at level Kill, because both are in the journal,
// in this order. No other file system is proven, so level Power uses another
// strategy there.
func (t *target) shift(e *edit, o Options) (Result, error) {
	layout, err := sys.LayoutOf(t.f)
	if err != nil {
		return Result{}, &fs.PathError{Op: "statfs", Path: t.userName, Err: err}
	}
	switch {
	case !layout.Shifts():
		return Result{}, notApplicable("this file system does not shift extents", nil)
	case o.Level == durability.Power && !sys.OrdersData(t.f):
		return Result{}, notApplicable("the file system's journal is not known to order the intent record before the shift", nil)
	}
	extra, err := e.padToBlock(layout.Block)
	if err != nil {
		return Result{}, err
	}
	head, rec := e.build(extra)
	var value []byte
	if rec != nil && e.recordErr == nil {
		value = rec.encode(sys.Inode(t.info))
	}
	s := shifter{f: t.f, block: layout.Block, record: value, sync: o.Level == durability.Power}
	if o.KeepTimes {
		s.restore = func() error { return withFD(t.f, t.restoreTimes) }
	}
	switch {
	case len(head) > len(e.old) && bytes.HasSuffix(head, e.old):
		err = s.insert(head[:len(head)-len(e.old)])
	case len(head) < len(e.old) && bytes.HasSuffix(e.old, head):
		err = s.remove(int64(len(e.old) - len(head)))
	default:
		return Result{}, notApplicable("the old head would change, not only move", nil)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{
		Strategy: Shift,
		Promise:  durability.Promise{Level: o.Level},
		Header:   e.header, Pad: padding(e, head, rec), Moved: e.delta() + extra,
	}, nil
}

// A shifter shifts one file, which is locked.
type shifter struct {
	f       *os.File
	block   int64
	record  []byte // the file's record afterwards, empty for none
	sync    bool
	restore func() error // unless nil, runs before the intent is removed
}

// insert inserts head before the content.
func (s *shifter) insert(head []byte) error {
	in := &intent{kind: insertShift, record: s.record}
	fi, err := s.f.Stat()
	if err != nil {
		return err
	}
	if err := s.plan(&in.shift, fi.Size(), 0, head); err != nil {
		return err
	}
	return s.perform(in, func() error {
		if err := sys.InsertRange(s.f, 0, int64(len(head))); err != nil {
			return err
		}
		_, err := s.f.WriteAt(head, 0)
		return bare(err)
	})
}

// remove removes the first n bytes.
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
	return s.perform(in, func() error { return sys.CollapseRange(s.f, 0, n) })
}

// plan fills p for the file, whose base has the given size and begins at off.
func (s *shifter) plan(p *shiftPlan, base, off int64, head []byte) error {
	if base <= 0 {
		return notApplicable("there is no content to shift", nil)
	}
	if base > maxSize/2 {
		return notApplicable(fmt.Sprintf("a file of %d bytes is too large to shift", base), nil)
	}
	if len(head) == 0 || int64(len(head))%s.block != 0 {
		return notApplicable(fmt.Sprintf("%d bytes are not whole blocks of %d", len(head), s.block), nil)
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
	p.data = clip(m.blocks, at, at+p.end())
	p.beyondEOF = len(clip(m.blocks, at+p.end(), maxSize)) > 0
	if len(p.data) == 0 {
		return notApplicable("the content is one hole", nil)
	}
	p.first, err = checksum(s.f, off, p.firstLen())
	return err
}

// perform makes the change that in describes by calling do.
func (s *shifter) perform(in *intent, do func() error) error {
	if err := writeIntent(s.f, in); err != nil {
		return err
	}
	if s.sync {
		if err := sys.SyncAll(s.f); err != nil {
			return s.fail("sync", errors.Join(err, clearIntent(s.f)))
		}
	}
	if err := do(); err != nil {
		return s.rollback(err)
	}
	if s.sync {
		if err := sys.SyncAll(s.f); err != nil {
			// A failed sync is final: only Recover can find out what the disk has.
			return s.fail("sync", fmt.Errorf("%w: %w", ErrInterrupted, err))
		}
	}
	err := setRecord(s.f, s.record)
	if err == nil && s.restore != nil {
		err = s.restore()
	}
	if err == nil {
		err = clearIntent(s.f)
	}
	if err != nil {
		return s.fail("finish", fmt.Errorf("%w: %w", ErrInterrupted, bare(err)))
	}
	return nil
}

// rollback undoes a change that failed half-way.
func (s *shifter) rollback(cause error) error {
	state, err := recoverLocked(s.f)
	switch {
	case err != nil:
		return s.fail("shift", fmt.Errorf("%w: %w, and then: %w", ErrInterrupted, cause, err))
	case state == New:
		return nil // the change was complete in spite of the error
	case sys.CannotShift(cause):
		return notApplicable("the file system does not shift this file", cause)
	}
	return s.fail("shift", cause)
}

func (s *shifter) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: s.f.Name(), Err: err}
}
