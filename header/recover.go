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

// A DamagedError is the error of a file that was changed in place, neither old
// nor new, and not as an interruption leaves it: somebody else has written to
// it since. The file has not been touched. Whoever knows what it should hold
// repairs it and removes the attribute user.stele.intent.
type DamagedError struct {
	Path string
	Why  string
}

func (e *DamagedError) Error() string {
	return e.Path + ": an interrupted change cannot be ended: " + e.Why
}

// recoverLocked ends an interrupted change of f, which is open for writing and
// locked, and makes the file durable as it then is. Interrupted itself, it
// leaves a file that it finds the end of again.
//
// It takes nothing out of a file but a gap: blocks of hole or zeros, or of the
// head that was being put in or taken out. It writes nothing but a slot, of
// which some sectors are new and the others old, and what is new already.
func recoverLocked(f *os.File) (State, error) {
	in, found, err := readIntent(f)
	if err != nil || !found {
		return Clean, err
	}
	if in == nil { // of another file
		return Clean, clearIntent(f)
	}
	end := in.endShift
	if in.kind == slotRedo {
		end = in.endSlot
	}
	state, err := end(f)
	if err != nil {
		return state, err
	}
	// Before the intent goes: what was written over is not ordered behind the
	// journal.
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

// endSlot makes a torn slot new. Each sector of it is old, new, or somebody
// else's who has written there since; only where old ones and new ones are
// found beside each other was the slot torn.
func (in *intent) endSlot(f *os.File) (State, error) {
	now := make([]byte, len(in.data))
	if _, err := f.ReadAt(now, in.off); err == io.EOF {
		return Clean, nil // cut off since
	} else if err != nil {
		return Clean, err
	}
	var old, data, other int
	want, got := sectorSums(in.off, in.data), sectorSums(in.off, now)
	for i, s := range got {
		switch {
		case s == want[i] && s == in.old[i]: // which tells nothing
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
		// and to sync them again proves nothing. So they are written again.
		return New, in.writeSlot(f, func(i int) bool { return got[i] == want[i] })
	case data == 0 && old > 0:
		return Old, nil
	case old == 0: // nothing is left of either: it has become somebody else's
		return Clean, nil
	case other > 0:
		return Clean, &DamagedError{Path: f.Name(), Why: "the slot is torn, and somebody else has written to it"}
	}
	return New, in.writeSlot(f, func(int) bool { return true })
}

// writeSlot writes those sectors of a slot that which is true of.
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

// endShift takes a shift back or finishes it: whichever is to close the gap.
func (in *intent) endShift(f *os.File) (State, error) {
	p := &in.shift
	base, head := Old, New
	if in.kind == collapseShift {
		base, head = New, Old
	}
	layout, err := sys.LayoutOf(f)
	if err != nil {
		return Clean, &fs.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	if p.block != layout.Block {
		return Clean, &DamagedError{Path: f.Name(), Why: fmt.Sprintf("its blocks were of %d bytes, and are of %d", p.block, layout.Block)}
	}
	m, err := readMap(f, p.block)
	if errors.Is(err, errUnsuited) { // and here no other way could be taken
		return Clean, &DamagedError{Path: f.Name(), Why: err.Error()}
	} else if err != nil {
		return Clean, err
	}
	state, x, err := p.judge(m,
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
	if err == errEither {
		return Clean, &DamagedError{Path: f.Name(), Why: err.Error()}
	} else if err != nil {
		return Clean, err
	}
	switch state {
	case stateBase:
		return base, nil
	case stateHead:
		if in.kind == insertShift {
			err = p.rewriteHead(f) // for the same reason as a slot that is new
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
		"it was to be %d bytes with a head of %d, and now is %d bytes, in other places", p.base, p.gap()*p.block, m.size)}
}

// headOf tells what is in the blocks of the head.
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

// rewriteHead writes again what there is of the head.
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

// checksum of n bytes of f at off, which must be there.
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
