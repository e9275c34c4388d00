package logstore

import (
	"cmp"
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
// memtable. It must be the segment that was made of just this memtable, and not one
// into which it was compacted since: a snapshot of the moment in which it entered the
// catalog has it.
//
// What is left of a memtable may be many streams, and must not take memory for each as
// long as a consumer pleases. A scan that yields entries in order needs no more than
// the last row that the consumer took: what is left is all that comes behind it. A
// memtable that was not opened yet is left whole. Other scans, which run without their
// caller, go on in sealedParts, ranges of the rows of each stream.

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

// memoryRankOf is the rank of the memtable whose memoryRank or sealedRank is given.
func memoryRankOf(rank uint64) uint64 { return memoryRank(int((rank - firstMemoryRank) / 3)) }

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
	ordered := s.task.yields()
	for i, m := range x.view.mems {
		if m == nil {
			continue
		}
		to := m.sealed.Load()
		if to == nil {
			continue
		}
		read := slices.ContainsFunc(s.workers.reads, func(r underRead) bool { return r.mem == m })
		if ordered && read {
			s.handingOver = true // see scan.mayRead
			continue
		}
		if m.count.Load() == 0 { // its appends have failed, and it has no segment
			s.leave(m)
		} else if seg, err := to.segment(); err != nil {
			s.fail(err)
		} else if ordered {
			s.moveRest(i, seg)
		} else {
			s.moveParts(i, seg)
		}
		if read {
			s.handingOver = true
			continue
		}
		to.refs.Add(1)
		x.view.sealed = append(x.view.sealed, sealedOf{to, i})
		x.view.mems[i] = nil
		m.release()
	}
}

// isSealed reports whether a source reads a memtable that was sealed.
func isSealed(src source) bool {
	in, ok := src.(inMemory)
	return ok && in.memtable().sealed.Load() != nil
}

// moveRest drops what is left of the i-th memtable, and queues what of its segment
// comes behind the last row that the consumer took. No worker reads the memtable. mu
// is held.
func (s *scan) moveRest(i int, seg catalog.Segment) {
	x := s.x
	left := s.leave(x.view.mems[i])
	behind := s.inbox.taken.behind()
	if behind != nil && behind.rank == memoryRank(i) {
		s.tied = tiedRows{s.inbox.taken, seg, sealedRank(x, i), x.tied(i, behind)}
	}
	if s.resting || !left {
		return
	}
	s.pushTied()
	s.pushRest(newRestBranch(x, seg, sealedRank(x, i), behind))
}

// A tiedRows is what is left of the stream and the time of a row that was taken from a
// memtable, in the segment that this was sealed into.
type tiedRows struct {
	taken takenRow
	seg   catalog.Segment
	order uint64
	parts []sealedPart
}

// pushTied queues the rows that follow the row that was taken last, if their memtable
// was sealed since. mu is held.
func (s *scan) pushTied() {
	if t := &s.tied; t.parts != nil && t.taken == s.inbox.taken {
		s.push(newPartsBranch(s.x, t.seg, t.order, t.parts))
	}
}

// leave drops what was not taken of a memtable that no worker reads. It reports
// whether there was some. mu is held.
func (s *scan) leave(m *memtable) (left bool) {
	items := s.queue.Items
	s.queue.Items = nil
	for _, it := range items {
		if m.isReadBy(it.Value) {
			left = true
		} else {
			s.push(it.Value)
		}
	}
	n := len(s.kept)
	s.kept = slices.DeleteFunc(s.kept, m.isReadBy)
	s.drop(func(f *results) bool { return m.isReadBy(f.leaf) }, func(*results) { left = true })
	return left || len(s.kept) < n
}

// pushRest queues a branch unless it can have no entry. mu is held.
func (s *scan) pushRest(b *segmentBranch) {
	if b.first <= b.last {
		s.push(b)
	}
}

// tied returns the rows of the i-th memtable that have the time and the stream of the
// row that was taken from it, and come behind it.
func (x *search) tied(i int, taken *takenRow) []sealedPart {
	m := x.view.mems[i]
	of := x.store.tenants.find(x.tenant)
	if of == nil {
		return nil
	}
	n, ok := x.store.labels.Find(of.number, taken.labels.enc)
	h := m.streams.Get(n)
	if !ok || h == nil || h.of.labels != taken.labels {
		return nil
	}
	rows := m.all(h)
	part := rowRange{rowAt(rows, taken.time), rowAt(rows, taken.time+1), taken.time, taken.time}
	w := window{}.behind(taken.mark)
	part.cut(len(rows), x.backward, &w, func(i int, m *mark) int {
		r := &rows[i]
		return cmp.Or(cmp.Compare(r.time, m.time), cmp.Compare(r.pos, m.pos), cmp.Compare(r.off, m.row))
	})
	x.cutAtCursor(&part, m, h, rows)
	return appendPart(nil, h, part, h.totals())
}

// moveParts puts sources of the segment of the i-th memtable in place of those of the
// memtable. mu is held.
func (s *scan) moveParts(i int, seg catalog.Segment) {
	x := s.x
	m := x.view.mems[i]
	s.unread(func(f *results) bool { return m.isReadBy(f.leaf) })
	var queue []source
	for _, it := range s.queue.Items {
		queue = append(queue, it.Value)
	}
	s.queue.Items = nil
	for _, src := range s.partsOf(queue, i, seg) {
		s.push(src)
	}
	s.kept = s.partsOf(s.kept, i, seg)
}

// partsOf returns the list with a source of the segment in place of those of the i-th
// memtable. mu is held.
func (s *scan) partsOf(list []source, i int, seg catalog.Segment) []source {
	x := s.x
	m := x.view.mems[i]
	others := make([]source, 0, len(list)+1)
	var parts []sealedPart
	for _, src := range list {
		in, ok := src.(inMemory)
		if !ok || in.memtable() != m {
			others = append(others, src)
			continue
		}
		var all bool
		if parts, all = in.sealedParts(x, parts); !all {
			continue
		}
		if b := newRestBranch(x, seg, sealedRank(x, i), nil); b.first <= b.last {
			others = append(others, b)
		}
	}
	if len(parts) == 0 {
		return others
	}
	if _, times := s.task.(timesTask); !times {
		// Code of the caller runs in the other tasks.
		if err := x.sums.charge(int64(len(parts)) * sealedPartBytes); err != nil {
			s.fail(err)
		}
	}
	return append(others, newPartsBranch(x, seg, sealedRank(x, i), parts))
}
