package segment

import (
	"math"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A frameList reads the list of runs of a block, whose streams it finds in the
// table. It allocates only where a stream is not the one after the stream of
// the run before.
type frameList struct {
	c     decoder
	t     *tables
	block int

	run  segment2.Run // the last one that next read
	last string       // its labels
	runs uint32
	rows int64 // of all runs so far
	raw  int64
}

// readList verifies the beginning of a frame up to its block, and returns a
// frameList of it. The error is a *segment2.CorruptError.
func (s *Segment) readList(p []byte, t *tables, block int) (frameList, error) {
	entry := t.blockEntry(block)
	f, ok := parseFrame(p, s.footer.salt, entry.off)
	list := p[frameHeaderSize : frameHeaderSize+entry.list]
	switch {
	case !ok || f.kind != kindBlock || f.list != entry.list || f.payload != entry.size || f.sum != entry.sum || !s.scanned && int(f.number) != block:
		return frameList{}, corrupt(s.src, entry.off, block, "its header is not as it was written")
	case checksum(list) != f.listSum:
		return frameList{}, corrupt(s.src, entry.off+frameHeaderSize, block, "the checksum of its list of runs does not match")
	}
	return frameList{c: decoder{p: list}, t: t, block: block}, nil
}

// next reads a run. It returns false at the end, and at an error.
func (r *frameList) next() bool {
	if len(r.c.p) == 0 {
		return false
	}
	ordinal, ok := r.stream()
	if !ok {
		r.c.p, r.c.bad = nil, true
		return false
	}
	time := r.run.MinTime
	r.run = segment2.Run{Ordinal: ordinal, Block: uint32(r.block), First: uint32(r.rows)}
	r.run.Seq = r.c.atMost(math.MaxInt64)
	r.run.Rows = uint32(r.c.atMost(uint64(math.MaxInt32 - r.rows)))
	r.run.MinTime = time + r.c.zigzag()
	r.run.MaxTime = r.run.MinTime + int64(r.c.uvarint())
	r.run.Raw = int64(r.c.atMost(uint64(math.MaxInt32 - r.raw)))
	r.rows += int64(r.run.Rows)
	r.raw += r.run.Raw
	if r.c.bad = r.c.bad || r.run.Rows == 0 || r.run.MaxTime < r.run.MinTime; r.c.bad {
		r.c.p = nil
		return false
	}
	r.runs++
	return true
}

// stream reads labels and finds their stream.
func (r *frameList) stream() (ordinal uint32, ok bool) {
	same := r.c.atMost(uint64(len(r.last)))
	rest := r.c.take(r.c.atMost(maxLabels - same))
	if r.c.bad || same != 0 && r.runs%restartInterval == 0 {
		return 0, false
	}
	if next := int(r.run.Ordinal) + 1; r.runs > 0 && next < len(r.t.streams) {
		if l := r.t.streams[next].Labels; l[:min(len(l), int(same))] == r.last[:same] && l[same:] == string(rest) {
			r.last = l
			return uint32(next), true
		}
	}
	i, ok := r.t.find(r.last[:same] + string(rest))
	if ok {
		r.last = r.t.streams[i].Labels
	}
	return uint32(i), ok
}

// end verifies that the list has been read, and is that of the table's entry.
func (r *frameList) end(entry blockEntry) error {
	if r.c.bad {
		return errForm
	}
	if r.rows != int64(entry.rows) || r.raw != int64(entry.raw) || r.runs != entry.runs {
		return errRuns
	}
	return nil
}
