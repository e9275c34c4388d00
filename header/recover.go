package header

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// A DamagedError is the error of a file that was changed in place and is neither
// old nor new, nor as an interruption leaves it: another program has written to it
// since. The file has not been changed. To repair it, restore its content and
// remove the attribute user.stele.intent.
type DamagedError struct {
	Path string
	Why  string
}

func (e *DamagedError) Error() string {
	return e.Path + ": an interrupted change cannot be completed or undone: " + e.Why + "; restore the content, then remove the attribute " + intentName
}

// recoverLocked completes or undoes an interrupted change of f, which is open for
// writing and locked, and syncs the file. If it is interrupted, it can be called
// again.
//
// It removes nothing from a file but a gap: blocks of holes or zeros, or of the head
// that was being inserted or removed. It writes nothing but slots of which some
// sectors are new and the others old, and bytes that are new already.
func recoverLocked(f *os.File) (State, error) {
	in, found, err := readIntent(f)
	if err != nil || !found {
		return Clean, err
	}
	if in == nil { // copied from another file
		return Clean, clearIntent(f)
	}
	end := in.resolveShift
	if in.kind == slotRedo {
		end = in.resolveSlot
	}
	state, err := end(f)
	if err != nil {
		return state, err
	}
	// Before the intent is removed: the journal does not order overwrites.
	if err := sys.SyncAll(f); err != nil {
		return state, &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	if state == New {
		if err := setRecord(f, in.record); err != nil {
			return state, err
		}
	}
	return state, clearIntent(f)
}

// setRecord makes value the file's record, or removes it if value is empty.
func setRecord(f *os.File, value []byte) error {
	var err error
	if len(value) > 0 {
		err = withFD(f, func(fd int) error { return sys.SetAttr(fd, recordName, value) })
	} else if err = sys.RemoveXattr(f, recordName); sys.NoXattr(err) {
		err = nil
	}
	if err != nil {
		return &fs.PathError{Op: "record", Path: f.Name(), Err: err}
	}
	return nil
}

// resolveSlot makes a torn slot new. Each of its sectors is old, new, or written by
// another program since; the slot is torn only if it has both old and new sectors.
func (in *intent) resolveSlot(f *os.File) (State, error) {
	now := make([]byte, len(in.data))
	if _, err := f.ReadAt(now, in.off); err == io.EOF {
		return Clean, nil // truncated since
	} else if err != nil {
		return Clean, err
	}
	var old, data, other int
	want, got := sectorSums(in.off, in.data), sectorSums(in.off, now)
	for i, s := range got {
		switch {
		case s == want[i] && s == in.old[i]: // inconclusive
		case s == want[i]:
			data++
		case s == in.old[i]:
			old++
		default:
			other++
		}
	}
	switch {
	case old == 0 && data > 0:
		// The sync of these bytes may have failed: then their pages are clean,
		// and another sync would prove nothing. So write them again.
		return New, in.writeSlot(f, func(i int) bool { return got[i] == want[i] })
	case data == 0 && old > 0:
		return Old, nil
	case old == 0: // another program has overwritten all of it
		return Clean, nil
	case other > 0:
		return Clean, &DamagedError{Path: f.Name(), Why: "the slot is torn, and another program has written to it"}
	}
	return New, in.writeSlot(f, func(int) bool { return true })
}

// writeSlot writes the sectors of a slot for which which(i) is true.
func (in *intent) writeSlot(f *os.File, which func(i int) bool) error {
	off, data := in.off, in.data
	for i := range in.old {
		n := min(int64(len(data)), sector-off%sector)
		if which(i) {
			if err := rewriteAt(f, data[:n], off); err != nil {
				return err
			}
		}
		data, off = data[n:], off+n
	}
	return nil
}

func rewriteAt(f *os.File, b []byte, off int64) error {
	_, err := f.WriteAt(b, off)
	return err
}

// resolveShift undoes or completes a shift, whichever closes the gap.
func (in *intent) resolveShift(f *os.File) (State, error) {
	p := &in.shift
	base, head := Old, New
	if in.kind == collapseShift {
		base, head = New, Old
	}
	m, err := p.mapOf(f)
	if err != nil {
		return Clean, err
	}
	state, x, err := p.classify(m,
		func() (headState, error) { return p.headOf(f) },
		func(block int64) (bool, error) {
			s, err := checksum(f, block*p.block, p.firstLen())
			return s == p.first, err
		},
		func() (bool, error) {
			b := make([]byte, m.size-p.base)
			_, err := f.ReadAt(b, p.base)
			return allZero(b), err
		})
	if err == errAmbiguous {
		return Clean, &DamagedError{Path: f.Name(), Why: err.Error()}
	} else if err != nil {
		return Clean, err
	}
	switch state {
	case stateBase:
		return base, nil
	case stateHead:
		if in.kind == insertShift {
			err = p.rewriteHead(f) // for the same reason as a new slot
		}
		return head, err
	case stateGap:
		if err := sys.CollapseRange(f, x*p.block, p.gap()*p.block); err != nil {
			return Clean, &fs.PathError{Op: "collapse", Path: f.Name(), Err: err}
		}
		return base, nil
	case stateTail:
		if err := f.Truncate(p.base); err != nil {
			return Clean, err
		}
		return base, nil
	}
	return Clean, &DamagedError{Path: f.Name(), Why: fmt.Sprintf(
		"it should have %d bytes without a head of %d, and has %d bytes with other extents", p.base, p.gap()*p.block, m.size)}
}

// mapOf returns the map of f, or a DamagedError if it cannot be compared with the plan.
func (p *shiftPlan) mapOf(f *os.File) (fileMap, error) {
	layout, err := sys.LayoutOf(f)
	if err != nil {
		return fileMap{}, &fs.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	if p.block != layout.Block {
		return fileMap{}, &DamagedError{Path: f.Name(), Why: fmt.Sprintf("the block size was %d bytes, and now is %d", p.block, layout.Block)}
	}
	m, err := readMap(f, p.block)
	if errors.Is(err, errNotApplicable) { // no other strategy can help here
		err = &DamagedError{Path: f.Name(), Why: err.Error()}
	}
	return m, err
}

// headOf reads the blocks of the head.
func (p *shiftPlan) headOf(f *os.File) (h headState, err error) {
	b := make([]byte, p.block)
	for i, want := range p.head {
		if _, err := f.ReadAt(b, int64(i)*p.block); err != nil {
			return h, err
		}
		switch {
		case sum(b) == want:
			h.whole++
		case allZero(b):
			h.zero++
		default:
			h.other++
		}
	}
	return h, nil
}

// rewriteHead writes the intact blocks of the head again.
func (p *shiftPlan) rewriteHead(f *os.File) error {
	b := make([]byte, p.block)
	for i, want := range p.head {
		off := int64(i) * p.block
		if _, err := f.ReadAt(b, off); err != nil {
			return err
		}
		if sum(b) == want {
			if err := rewriteAt(f, b, off); err != nil {
				return err
			}
		}
	}
	return nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// checksum returns the CRC-32C of n bytes of f at off. It is an error if f ends
// before.
func checksum(f *os.File, off, n int64) (uint32, error) {
	buf := buffers.Get().(*[pieceSize]byte)
	defer buffers.Put(buf)
	s := uint32(0)
	for n > 0 {
		piece := buf[:min(n, pieceSize)]
		if _, err := f.ReadAt(piece, off); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, bare(err)
		}
		s = crc32.Update(s, castagnoli, piece)
		off, n = off+int64(len(piece)), n-int64(len(piece))
	}
	return s, nil
}
