package logstore

import (
	"slices"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A query may last for hours, as slow as its consumer, and a memtable of its
// view is sealed within seconds. Were memtables kept for queries, memory would
// soon exceed Options.Memory. So a query releases a sealed memtable at once and
// goes on in the segment. Its consumer is not needed for that: what is left to be
// read is in sources, and what it has not taken becomes sources again.
//
// The segment has of each stream the same rows in the same order as the
// memtable. So a source in memory, which is ranges of these rows, stands for the
// same entries in both, and the query finds exactly what it would have found. It must
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

// setSealed is called when the segment of m has just entered the catalog, and m
// has left the list of memtables, so that nothing begins to use it.
func (m *memtable) setSealed(s *catalog.Catalog) {
	if m.refs.Load() == 1 {
		return // only the store has it
	}
	if segs := s.Snapshot(); segs != nil {
		t := &sealedMemtable{segs: segs, rank: m.after}
		t.refs.Store(1)
		m.sealed.Store(t)
	}
}

// firstMemoryRank is above the ranks of all segments: entries in memory come
// after those in segments.
const firstMemoryRank = 1 << 63

// memoryRank is the rank of the i-th memtable of a view.
func memoryRank(i int) uint64 { return firstMemoryRank + 3*uint64(i) + 1 }

// sealedRank is the rank of what is left of it once it is sealed: in the order
// of the search, that comes after the entries already found.
func sealedRank(x *search, i int) uint64 {
	if x.backward {
		return memoryRank(i) - 1
	}
	return memoryRank(i) + 1
}

// handOver goes on in segments where memtables of the view have been sealed, and
// releases those memtables that no worker is reading. A worker that reads one
// calls it again afterwards. s.mu is held.
func handOver(s *scan) {
	s.handingOver = false
	x := s.x
	for i, m := range x.view.mems {
		if m == nil {
			continue
		}
		to := m.sealed.Load()
		if to == nil {
			continue
		}
		s.unread(func(f *results) bool {
			l, ok := f.leaf.(*memoryLeaf)
			return ok && l.mem == m
		})
		var queue []source
		for _, it := range s.queue.Items {
			queue = append(queue, it.Value)
		}
		moved, err := moveSources(x, queue, i, to)
		if err != nil {
			s.fail(err)
		}
		s.queue.Items = nil
		for _, src := range moved {
			s.push(src)
		}
		if s.kept, err = moveSources(x, s.kept, i, to); err != nil {
			s.fail(err)
		}
		if slices.ContainsFunc(s.workers.reads, func(r underRead) bool { return r.mem == m }) {
			s.handingOver = true
			continue
		}
		to.refs.Add(1)
		x.view.sealed = append(x.view.sealed, to)
		x.view.mems[i] = nil
		m.release()
	}
}

// moveSources returns the list with one source of the segment in place of those
// of the i-th memtable.
func moveSources(x *search, list []source, i int, to *sealedMemtable) ([]source, error) {
	m := x.view.mems[i]
	others := make([]source, 0, len(list)+1)
	var parts []sealedPart
	for _, src := range list {
		if in, ok := src.(inMemory); ok && in.memtable() == m {
			parts = in.sealedParts(x, parts)
		} else {
			others = append(others, src)
		}
	}
	if len(parts) == 0 {
		return others, nil
	}
	b, err := newSealedBranch(x, to, sealedRank(x, i), parts)
	if err != nil {
		return others, err
	}
	return append(others, b), nil
}
