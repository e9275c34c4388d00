package header

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/stele-go/stele/internal/sys"
)

// A span is a part of a file, in blocks.
type span struct{ off, n int64 }

// A fileMap says where a file has room on the disk, and where holes. A shift
// moves blocks and holes alike, so the map tells how far a shift has come.
type fileMap struct {
	size    int64  // of the file, in bytes
	blocks  []span // with room: ascending, with holes between
	written []span // of these, what does not read as zeros by itself
}

// readMap reads the map of f, whose blocks have the given size in bytes.
func readMap(f *os.File, block int64) (fileMap, error) {
	var m fileMap
	extents, err := sys.Extents(f)
	if err != nil {
		return m, unsuited("where the file has holes is not known", err)
	}
	fi, err := f.Stat()
	if err != nil {
		return m, err
	}
	m.size = fi.Size()
	for _, e := range extents {
		if e.Off < m.size && e.Odd || e.Off%block != 0 || e.Len%block != 0 {
			return m, unsuited("the file does not lie in whole blocks", nil)
		}
		s := span{e.Off / block, e.Len / block}
		m.blocks = addSpan(m.blocks, s)
		if !e.Unwritten {
			m.written = addSpan(m.written, s)
		}
	}
	return m, nil
}

// addSpan appends s, which lies behind all of list, or joins it to the last.
func addSpan(list []span, s span) []span {
	if last := len(list) - 1; last >= 0 && list[last].off+list[last].n == s.off {
		list[last].n += s.n
		return list
	}
	return append(list, s)
}

// cut returns what list has between from and to, counted from `from`.
func cut(list []span, from, to int64) []span {
	var out []span
	for _, s := range list {
		begin, end := max(s.off, from), min(s.off+s.n, to)
		if begin < end {
			out = addSpan(out, span{begin - from, end - begin})
		}
	}
	return out
}

// withGap returns list with n blocks of hole put in at x.
func withGap(list []span, x, n int64) []span {
	out := cut(list, 0, x)
	for _, s := range cut(list, x, maxSize) {
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

// A shiftPlan is what has to be known to tell how far a shift has come, and to
// end it. Both directions are one: there is a base, which is the file without
// the shifted head, and a gap in it, which lets the head in, or is what it left.
type shiftPlan struct {
	block int64    // bytes
	base  int64    // size of the base, in bytes
	data  []span   // of the base, where it has room, up to its end
	head  []uint32 // CRC-32C of each block of the head
	first uint32   // CRC-32C of the base's first bytes, as many as the head's
	ahead bool     // there is room beyond the file's end too
}

// end of the base, and length of the head, in blocks.
func (p *shiftPlan) end() int64 { return (p.base + p.block - 1) / p.block }
func (p *shiftPlan) gap() int64 { return int64(len(p.head)) }

// firstLen is how many bytes `first` is of.
func (p *shiftPlan) firstLen() int64 { return min(p.base, p.gap()*p.block) }

func (p *shiftPlan) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(p.block))
	b = binary.AppendUvarint(b, uint64(p.base))
	b = binary.LittleEndian.AppendUint32(b, p.first)
	b = append(b, flag(p.ahead))
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

// plan takes a shiftPlan off, and none that cannot be: its spans are in order,
// apart and within the base, and neither it nor the head is empty.
func (d *decoder) plan() shiftPlan {
	p := shiftPlan{block: d.size(), base: d.size()}
	p.first = d.sum()
	p.ahead = d.flag()
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

// maxBlock is more than the largest block that a file system has, in bytes.
const maxBlock = 1 << 24

// A shiftState is how far a shift has come.
type shiftState uint8

const (
	// stateUnknown: somebody else has changed the file.
	stateUnknown shiftState = iota
	// stateBase: the file is the base, and perhaps what was appended to it.
	stateBase
	// stateHead: head and base.
	stateHead
	// stateGap: there is a gap in the base.
	stateGap
	// stateTail: the file has grown, or has not yet shrunk, and that is all.
	stateTail
)

// A headState is what there is in the blocks of the head.
type headState struct {
	whole, zero, other int64 // blocks
}

// judge finds the state of a file from its map, and the block where the gap
// begins. The others are asked only where the map leaves a choice: what is in
// the blocks of the head, if the head were there; whether the base begins at a
// block; and whether all that is behind the base is zeros.
//
// ext4 and XFS shift to the right from the last extent on, and to the left
// from the first on, one extent or one leaf of the tree after the other, in a
// series of transactions (ext4_ext_shift_extents, xfs_bmap_insert_extents,
// xfs_bmap_collapse_extents). What is left where it breaks off is the base
// with a gap at the begin of one extent, whichever way. To the right the file
// grows before, to the left it shrinks after that. XFS lets it grow to the end
// of its last block first, which it fills with zeros (xfs_setattr_size).
func (p *shiftPlan) judge(m fileMap, head func() (headState, error), first func(block int64) (bool, error), zeroTail func() (bool, error)) (shiftState, int64, error) {
	end, gap := p.end(), p.gap()
	long := m.size >= p.base+gap*p.block // enough for head and base
	base := m.size >= p.base && slices.Equal(cut(m.blocks, 0, end), p.data)
	// With the head before it, the base is there too where the file is long.
	open := long && slices.Equal(cut(m.blocks, gap, gap+end), p.data)
	if open {
		h, err := head()
		if err != nil {
			return stateUnknown, 0, err
		}
		if h.whole == gap {
			return stateHead, 0, nil
		}
		if base {
			// Such is a file without holes, whatever happened.
			if base, err = p.baseFirst(m, h, first); err != nil {
				return stateUnknown, 0, err
			}
		}
		switch {
		case base:
		case h.other == 0:
			return stateGap, 0, nil // partly filled, or partly given back
		case h.zero == 0:
			return stateHead, 0, nil // and written over since
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
		case !long || len(cut(m.written, end, end+gap)) > 0: // perhaps with something appended
			return stateBase, 0, nil
		case m.size == p.base+gap*p.block:
			return stateTail, 0, nil
		}
		return stateUnknown, 0, nil
	}
	if x, found := firstMissing(p.data, m.blocks); found && long &&
		slices.Equal(cut(m.blocks, 0, end+gap), withGap(p.data, x, gap)) {
		return stateGap, x, nil
	}
	return stateUnknown, 0, nil
}

// errEither is why a state cannot be told.
var errEither = errors.New("its map and its bytes fit two states of a shift")

// baseFirst reports whether the file begins with the base, where by its map it
// may begin with a head too, of which h is there.
func (p *shiftPlan) baseFirst(m fileMap, h headState, first func(block int64) (bool, error)) (bool, error) {
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
	case here && h.other > 0: // a file that repeats itself; of a head there is nothing
		return true, nil
	case here && !p.ahead && m.size == p.base+p.gap()*p.block: // it begins with zeros
		return false, nil // the end of the base alone would be followed by a hole
	}
	return false, errEither
}
