package logstore

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A query may last for hours, as slow as its consumer, and a memtable of its
// view is sealed within seconds. Were memtables kept for queries, memory would
// soon exceed Options.Memory. So a query releases a sealed memtable at once and
// goes on in the segment. Its consumer is not needed for that: results are
// copies, and what is left to be read is in candidates alone.
//
// The segment has of each stream the same rows in the same order as the
// memtable. So a candidate, which is a range of these rows, stands for the same
// entries in both, and the query finds exactly what it would have found. It must
// be the segment that was made of just this memtable, and not one into which it
// was compacted since: a snapshot of the moment in which it entered the catalog
// has it.

// A sealedMemtable locates the entries of a memtable once it is sealed.
type sealedMemtable struct {
	segs *catalog.Snapshot
	rank uint64 // of the segment in segs
	refs atomic.Int64
}

func (t *sealedMemtable) release() {
	if t.refs.Add(-1) == 0 {
		t.segs.Release()
	}
}

// item returns the item of a stream in the segment.
func (t *sealedMemtable) item(stream uint32, from, to int64) (timeindex.Item, bool) {
	for it := range t.segs.Index.Overlapping(stream, from, to) {
		if t.segs.Rank(it.Segment) == t.rank {
			return it, true
		}
	}
	return timeindex.Item{}, false
}

// setSealed is called when the segment of m has just entered the catalog, and m
// has left the list of memtables, so that nothing begins to use it.
func (m *memtable) setSealed(s *catalog.Catalog) {
	if m.refs.Load() == 1 {
		return // only the store has it
	}
	if segs := s.Snapshot(); segs != nil {
		t := &sealedMemtable{segs: segs, rank: m.base - 1}
		t.refs.Store(1)
		m.sealed.Store(t)
	}
}

// A rowRange is consecutive rows of a stream in a segment, [first, end) of all
// its rows there, with times from min to max.
type rowRange struct {
	first, end int
	min, max   int64
}

// rowRangeOf returns the rows that a candidate of a sealed memtable stands for.
func (x *search) rowRangeOf(m *memorySource) rowRange {
	rows := m.mem.all(m.mem.streams.Get(m.stream))
	at := func(time int64) int {
		i, _ := slices.BinarySearchFunc(rows, time, func(r memRow, t int64) int { return cmp.Compare(r.time, t) })
		return i
	}
	t := rowRange{at(m.from), at(m.to), m.from, m.to - 1}
	if m.hasLast {
		i, _ := slices.BinarySearchFunc(rows, m.last, compareRows)
		if x.backward {
			t.end = min(t.end, i)
		} else {
			t.first = max(t.first, i+1)
		}
	}
	return t
}

// clip cuts a run, which before rows of its stream precede, to the range, and
// reports whether rows are left.
func (sp *span) clip(t *rowRange, before int) bool {
	from, to := max(before, t.first), min(before+sp.rows, t.end)
	if from >= to {
		return false
	}
	sp.raw = int64(float64(sp.raw) * float64(to-from) / float64(sp.rows))
	sp.first, sp.rows = sp.first+from-before, to-from
	sp.min, sp.max = max(sp.min, t.min), min(sp.max, t.max)
	return true
}

// switchSealed goes on in segments where memtables of the view have been
// sealed, and releases those memtables that no worker is reading. A worker that
// reads one calls it again afterwards. mu is held.
func (s *scan) switchSealed() {
	s.releasePending = false
	for i, m := range s.x.view.mems {
		if m == nil {
			continue
		}
		to := m.sealed.Load()
		if to == nil {
			continue
		}
		queue := s.switchCandidates(s.queue, i, to)
		s.queue = make([]candidate, 0, len(queue))
		for _, c := range queue {
			s.push(c)
		}
		s.narrowed = s.switchCandidates(s.narrowed, i, to)
		if slices.Contains(s.memtables, m) {
			s.releasePending = true
			continue
		}
		to.refs.Add(1)
		s.x.view.sealed = append(s.x.view.sealed, to)
		s.x.view.mems[i] = nil
		m.release()
	}
}

// switchCandidates returns the list with one candidate in place of those of the
// i-th memtable.
func (s *scan) switchCandidates(list []candidate, i int, to *sealedMemtable) []candidate {
	m := s.x.view.mems[i]
	others := make([]candidate, 0, len(list)+1)
	all := candidate{segment: &segmentSource{segs: to.segs, rank: s.x.sealedRank(i)}}
	for _, c := range list {
		if c.memory == nil || c.memory.mem != m {
			others = append(others, c)
			continue
		}
		t := s.x.rowRangeOf(c.memory)
		if t.first >= t.end {
			continue
		}
		it, ok := to.item(c.memory.stream, t.min, t.max+1)
		if !ok {
			s.fail(fmt.Errorf("stream %d is not in the segment that it was sealed into", c.memory.stream))
			continue
		}
		if len(all.segment.items) == 0 {
			all.start, all.end = c.start, c.end
		}
		all.start, all.end = min(all.start, c.start), max(all.end, c.end)
		all.raw += c.raw
		all.segment.items = append(all.segment.items, sourceItem{Item: it, only: &t})
	}
	if len(all.segment.items) == 0 {
		return others
	}
	return append(others, all)
}
