package header

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/stele-go/stele/internal/sys"
)

// A span is a range of a file, in blocks.
type span struct{ off, n int64 }

// A fileMap says where a file has blocks allocated, and where holes. A shift moves
// blocks and holes alike, so the map shows how far a shift has come.
type fileMap struct {
	size    int64  // of the file, in bytes
	blocks  []span // allocated: ascending, with holes between
	written []span // those of blocks that do not read as zeros because they are unwritten
}

// readMap returns the map of f, whose block size is given in bytes.
func readMap(f *os.File, block int64) (fileMap, error) {
	var m fileMap
	extents, err := sys.Extents(f)
	if err != nil {
		return m, notApplicable("the file's extents are unknown", err)
	}
	fi, err := f.Stat()
	if err != nil {
		return m, err
	}
	m.size = fi.Size()
	for _, e := range extents {
		if e.Off < m.size && e.Odd || e.Off%block != 0 || e.Len%block != 0 {
			return m, notApplicable("the file's extents are not whole blocks", nil)
		}
		s := span{e.Off / block, e.Len / block}
		m.blocks = addSpan(m.blocks, s)
		if !e.Unwritten {
			m.written = addSpan(m.written, s)
		}
	}
	return m, nil
}

// addSpan appends s, which lies after all spans of list, or joins it to the last.
func addSpan(list []span, s span) []span {
	if last := len(list) - 1; last >= 0 && list[last].off+list[last].n == s.off {
		list[last].n += s.n
		return list
	}
	return append(list, s)
}

// clip returns the part of list between from and to, relative to from.
func clip(list []span, from, to int64) []span {
	var out []span
	for _, s := range list {
		begin, end := max(s.off, from), min(s.off+s.n, to)
		if begin < end {
			out = addSpan(out, span{begin - from, end - begin})
		}
	}
	return out
}

// withGap returns list with a hole of n blocks inserted at x.
func withGap(list []span, x, n int64) []span {
	out := clip(list, 0, x)
	for _, s := range clip(list, x, maxSize) {
		out = addSpan(out, span{s.off + x + n, s.n})
	}
	return out
}

// firstMissing returns the first block that is in a and not in b.
func firstMissing(a, b []span) (x int64, found bool) {
	for _, s := range a {
		for len(b) > 0 && b[0].off+b[0].n <= s.off {
			b = b[1:]
		}
		switch {
		case len(b) == 0 || b[0].off > s.off:
			return s.off, true
		case b[0].off+b[0].n < s.off+s.n:
			return b[0].off + b[0].n, true // b has holes between its spans
		}
	}
	return 0, false
}

// A shiftPlan describes a shift, so that Recover can tell how far it has come and
// complete or undo it. Both directions have the same form: a base, which is the
// file without the head, and a gap in it, where the head goes or where it was.
type shiftPlan struct {
	block     int64    // block size, in bytes
	base      int64    // size of the base, in bytes
	data      []span   // allocated blocks of the base, up to its end
	head      []uint32 // CRC-32C of each block of the head
	first     uint32   // CRC-32C of the base's first firstLen bytes
	beyondEOF bool     // blocks are allocated beyond the end of the file
}

// end returns the length of the base, and gap that of the head, in blocks.
func (p *shiftPlan) end() int64 { return (p.base + p.block - 1) / p.block }
func (p *shiftPlan) gap() int64 { return int64(len(p.head)) }

// firstLen returns how many bytes p.first covers: as many as the head has.
func (p *shiftPlan) firstLen() int64 { return min(p.base, p.gap()*p.block) }

func (p *shiftPlan) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(p.block))
	b = binary.AppendUvarint(b, uint64(p.base))
	b = binary.LittleEndian.AppendUint32(b, p.first)
	b = append(b, flag(p.beyondEOF))
	b = binary.AppendUvarint(b, uint64(len(p.head)))
	b = appendSums(b, p.head)
	b = binary.AppendUvarint(b, uint64(len(p.data)))
	at := int64(0)
	for _, s := range p.data {
		b = binary.AppendUvarint(b, uint64(s.off-at))
		b = binary.AppendUvarint(b, uint64(s.n))
		at = s.off + s.n
	}
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func (d *decoder) flag() bool {
	v := d.bytes(1)
	d.bad = d.bad || v[0] > 1
	return !d.bad && v[0] == 1
}

// plan decodes a shiftPlan and checks it: its spans are ascending, apart and within
// the base, and neither base nor head is empty.
func (d *decoder) plan() shiftPlan {
	p := shiftPlan{block: d.size(), base: d.size()}
	p.first = d.sum()
	p.beyondEOF = d.flag()
	p.head = d.sums(d.size())
	n := d.size()
	if d.bad || p.block < sector || p.block > maxBlock || p.base == 0 || p.base > maxSize/2 || len(p.head) == 0 || n == 0 || n > int64(len(d.b))/2 {
		d.bad = true
		return p
	}
	at := int64(0)
	for i := range n {
		hole, blocks := d.size(), d.size()
		if d.bad || blocks == 0 || hole == 0 && i > 0 || hole > p.end()-at || blocks > p.end()-at-hole {
			d.bad = true
			return p
		}
		p.data = append(p.data, span{at + hole, blocks})
		at += hole + blocks
	}
	return p
}

// maxBlock is above the block size of every file system, in bytes.
const maxBlock = 1 << 24

// A shiftState is how far a shift has come.
type shiftState uint8

const (
	// stateUnknown: another program has changed the file.
	stateUnknown shiftState = iota
	// stateBase: the file is the base, perhaps with data appended.
	stateBase
	// stateHead: the file is head and base.
	stateHead
	// stateGap: the base has the gap somewhere.
	stateGap
	// stateTail: the file is the base, already grown or not yet shrunk.
	stateTail
)

// A headState counts the blocks of the head by their content.
type headState struct {
	whole, zero, other int64 // as written, zeros, anything else
}

// classify returns the state of a file with map m, and the block where the gap
// begins. It calls the functions only if the map allows several states: head reads
// the blocks where the head would be, first reports whether the base begins at a
// block, and zeroTail whether everything after the base is zeros.
//
// ext4 and XFS shift right starting with the last extent, and left starting with
// the first, one extent or one leaf of the tree after the other, in a series of
// transactions (ext4_ext_shift_extents, xfs_bmap_insert_extents,
// xfs_bmap_collapse_extents). An interruption leaves the base with a gap at the
// beginning of one extent, in both directions. A shift right grows the file first,
// a shift left shrinks it last. XFS first grows the file to the end of its last
// block, which it fills with zeros (xfs_setattr_size).
func (p *shiftPlan) classify(m fileMap, head func() (headState, error), first func(block int64) (bool, error), zeroTail func() (bool, error)) (shiftState, int64, error) {
	end, gap := p.end(), p.gap()
	long := m.size >= p.base+gap*p.block // it has space for head and base
	base := m.size >= p.base && slices.Equal(clip(m.blocks, 0, end), p.data)
	// The map also fits the base after the head.
	open := long && slices.Equal(clip(m.blocks, gap, gap+end), p.data)
	if open {
		h, err := head()
		if err != nil {
			return stateUnknown, 0, err
		}
		if h.whole == gap {
			return stateHead, 0, nil
		}
		if base {
			// A file without holes fits both, whatever happened.
			if base, err = p.startsWithBase(m, h, first); err != nil {
				return stateUnknown, 0, err
			}
		}
		switch {
		case base:
		case h.other == 0:
			return stateGap, 0, nil // partly written, or partly freed
		case h.zero == 0:
			return stateHead, 0, nil // overwritten since
		default:
			return stateUnknown, 0, nil
		}
	}
	if base {
		if m.size > p.base && m.size <= end*p.block && !long {
			grown, err := zeroTail()
			if err != nil {
				return stateUnknown, 0, err
			}
			if grown {
				return stateTail, 0, nil
			}
		}
		switch {
		case !long || len(clip(m.written, end, end+gap)) > 0: // perhaps with data appended
			return stateBase, 0, nil
		case m.size == p.base+gap*p.block:
			return stateTail, 0, nil
		}
		return stateUnknown, 0, nil
	}
	if x, found := firstMissing(p.data, m.blocks); found && long &&
		slices.Equal(clip(m.blocks, 0, end+gap), withGap(p.data, x, gap)) {
		return stateGap, x, nil
	}
	return stateUnknown, 0, nil
}

// errAmbiguous is the error if the state cannot be determined.
var errAmbiguous = errors.New("its extents and its content fit two states of a shift")

// startsWithBase reports whether the file begins with the base, if its map fits a
// head, with content h, as well.
func (p *shiftPlan) startsWithBase(m fileMap, h headState, first func(block int64) (bool, error)) (bool, error) {
	here, err := first(0)
	if err != nil {
		return false, err
	}
	there, err := first(p.gap())
	switch {
	case err != nil:
		return false, err
	case here != there:
		return here, nil
	case here && h.other > 0: // a file that repeats itself, without a head
		return true, nil
	case here && !p.beyondEOF && m.size == p.base+p.gap()*p.block: // it begins with zeros
		return false, nil // the end of the base alone would be followed by a hole
	}
	return false, errAmbiguous
}
