package logstore

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A memtableBranch is a memtable that was not opened yet. It opens in one pass
// over its streams.
type memtableBranch struct {
	extent
	mem     *memtable
	tenant  *tenant
	streams *roaring.Bitmap // numbers; nil: all of the tenant
	// created is that of the youngest stream when streams were looked up. A later
	// one may have the number of one that was forgotten since.
	created uint64
	gone    *memoryGone // entries not to be read, or nil
	behind  *takenRow   // if not nil, only rows behind it are read
}

const (
	// A leaf has one stream, or several with less than sharedRows each: up to
	// leafStreams, and leafRows together.
	sharedRows  = 1 << 8
	leafStreams = 1 << 6
	leafRows    = 1 << 12

	sliceRows    = 1 << 10 // entries that a leaf reads at once
	minSliceRows = 1 << 6
)

// newMemtableBranch returns the i-th memtable of the view as a source.
func (x *search) newMemtableBranch(i int, of *tenant, streams *roaring.Bitmap, created uint64, behind *takenRow) *memtableBranch {
	first, last := x.keys(x.from, x.to-1)
	m := x.view.mems[i]
	return &memtableBranch{extent{behind.first(x, first), last, m.raw.Load(), memoryRank(i)}, m, of, streams, created, x.goneInMemory(m), behind}
}

func (b *memtableBranch) memtable() *memtable { return b.mem }

func (b *memtableBranch) sealedParts(_ *search, to []sealedPart) ([]sealedPart, bool) {
	return to, true
}

// checkStreams is how many streams of a memtable are visited between two looks at
// whether the scan has ended.
const checkStreams = 1 << 10

// each calls f for each stream that the branch selects and that has entries, until
// the scan has ended.
func (b *memtableBranch) each(r *reading, f func(h *memStream, t rowTotals)) {
	seen := 0
	visit := func(h *memStream) bool {
		if seen++; seen%checkStreams == 0 && r.ended() != nil {
			return false
		}
		if b.streams != nil && h.of.created > b.created || h.of.tenant != b.tenant {
			return true
		}
		if t := h.totals(); t.rows > 0 {
			f(h, t)
		}
		return true
	}
	if b.streams == nil || uint64(b.mem.streams.Len()) < b.streams.GetCardinality() {
		for n, h := range b.mem.streams.All() {
			if (b.streams == nil || b.streams.Contains(n)) && !visit(h) {
				return
			}
		}
		return
	}
	for n := b.streams.Iterator(); n.HasNext(); {
		if h := b.mem.streams.Get(n.Next()); h != nil && !visit(h) {
			return
		}
	}
}

func (b *memtableBranch) open(r *reading, bound int64, fail func(error)) []source {
	x := r.x
	if x.tracksTop() && x.filter == nil && r.totals == nil && x.within.isAll() && b.gone == nil && b.behind == nil {
		bound = min(bound, b.topBound(r))
	}
	var leaves []source
	var shared *memoryLeaf
	b.each(r, func(h *memStream, t rowTotals) {
		if t.max < x.from || t.min >= x.to {
			return
		}
		first, last := x.keys(t.min, t.max)
		if first = b.behind.first(x, first); first > last || first > bound || !b.mayLack(h, t) && r.whole(streamRef{labels: h.of.labels.enc}, t, fail) {
			return
		}
		if t.rows >= sharedRows {
			leaves = append(leaves, b.leaf(x, h, first, last, t))
			return
		}
		if shared == nil || len(shared.spans) == leafStreams || shared.rows+t.rows > leafRows {
			shared = b.leaf(x, h, first, last, t)
			leaves = append(leaves, shared)
			return
		}
		shared.add(h, first, last, t)
	})
	fail(r.ended())
	for _, s := range leaves {
		s.(*memoryLeaf).setStep(x)
	}
	return leaves
}

// topBound returns a key up to which as many entries as the limit are. Each
// stream has one with its first key, if that is within the range.
func (b *memtableBranch) topBound(r *reading) int64 {
	x := r.x
	top := topKeys{limit: x.limit}
	b.each(r, func(_ *memStream, t rowTotals) {
		time := t.min
		if x.backward {
			time = t.max
		}
		if time >= x.from && time < x.to && (x.resume == nil || time != x.resume.Time) {
			top.add(x.key(time))
		}
	})
	return top.bound()
}

// appendPart appends a range of the rows of h, unless it is empty.
func appendPart(to []sealedPart, h *memStream, part rowRange, t rowTotals) []sealedPart {
	if part.first >= part.end {
		return to
	}
	return append(to, sealedPart{h.ordinal, part, int64(float64(t.raw) * float64(part.end-part.first) / float64(t.rows))})
}

// rowAt returns the index of the first row at or after a time.
func rowAt(rows []memRow, time int64) int {
	i, _ := slices.BinarySearchFunc(rows, time, func(r memRow, t int64) int { return cmp.Compare(r.time, t) })
	return i
}

// A memoryLeaf is some streams of a memtable, or what is left of them. It is
// read in slices of time, each of about as many entries as are wanted at once.
type memoryLeaf struct {
	extent
	mem   *memtable
	spans []*memStream
	rows  int64 // about as many as the streams have
	step  int64 // of time, of the next slice
	whole bool  // it is read in one slice
	gone  *memoryGone
	taken *takenRow // if not nil, only rows behind it are read

	window window
}

func (b *memtableBranch) leaf(x *search, h *memStream, first, last int64, t rowTotals) *memoryLeaf {
	return &memoryLeaf{
		extent: extent{first, last, t.raw, b.order}, mem: b.mem, spans: []*memStream{h}, rows: t.rows, gone: b.gone, taken: b.behind,
	}
}

// add adds a stream.
func (l *memoryLeaf) add(h *memStream, first, last int64, t rowTotals) {
	l.spans = append(l.spans, h)
	l.first, l.last = min(l.first, first), max(l.last, last)
	l.rows += t.rows
	l.size += t.raw
}

// setStep sets about the time range of a first slice, once all streams are
// there.
func (l *memoryLeaf) setStep(x *search) {
	want := int64(sliceRows)
	if x.limit > 0 && x.filter == nil {
		want = min(want, max(minSliceRows, 2*int64(x.limit)))
	}
	span := l.last - l.first
	l.step = max(1, span+1)
	if l.rows > want {
		l.step = int64(float64(span)/float64(l.rows)*float64(want)) + 1
	}
}

func (l *memoryLeaf) memtable() *memtable { return l.mem }

func (l *memoryLeaf) pick(r *reading, bound int64, mode pickMode) (rest leaf, err error) {
	x := r.x
	last := min(l.last, bound)
	if !l.whole && last-l.first >= l.step {
		last = l.first + l.step - 1
	}
	from, to := x.times(l.first, last)
	several := l.pickRows(r, from, to, mode)
	l.adapt(len(r.rows))
	if last < l.last && last < bound {
		next := *l
		next.first = last + 1
		next.size = int64(float64(l.size) * float64(l.last-last) / float64(l.last-l.first))
		rest = &next
	}
	if mode != timesOnly {
		if !x.noLines || x.filter != nil {
			for _, p := range r.picks {
				r.stats.RawBytes += int64(r.rows[p.row].lineLen() + len(r.meta(p)))
			}
		}
		if err := r.match(l); err != nil {
			return nil, err
		}
		if several && mode == withLines {
			r.sortPicks(l)
		}
	}
	if x.backward {
		slices.Reverse(r.picks)
	}
	return rest, nil
}

// pickRows picks the rows with times in [from, to), stream by stream. several
// reports that more than one stream has some.
func (l *memoryLeaf) pickRows(r *reading, from, to int64, mode pickMode) (several bool) {
	x := r.x
	r.reset(l.mem)
	var absent []atomic.Uint32
	if mode != timesOnly {
		absent = x.chunks.results(l.mem)
	}
	streams := 0
	for span, h := range l.spans {
		row, picked := len(r.rows), len(r.picks)
		r.rows = h.between(r.rows, from, to)
		lacks := l.gone.of(h.of.labels)
		for ; row < len(r.rows); row++ {
			at := &r.rows[row]
			if x.chunks.excludes(absent, l.mem, uint32(at.chunk)) || l.window.isCut() && !l.has(x, span, at) {
				continue
			}
			if l.wasTaken(x, h, at) {
				continue
			}
			if !x.within.isAll() && !x.within.has(l.mem.id(at).Position) {
				continue
			}
			if len(lacks) > 0 && slices.ContainsFunc(lacks, func(g *gone) bool {
				return g.has(at.time, l.mem.id(at).Position) && g.hasLine(l.mem.line(*at))
			}) {
				continue
			}
			p := pick{at.time, int32(span), int32(row)}
			if x.resume == nil || at.time != x.resume.Time || r.beyondCursor(l, p, func() segment2.ID { return l.mem.id(at) }) {
				r.picks = append(r.picks, p)
			}
		}
		if len(r.picks) > picked {
			streams++
		}
	}
	return streams > 1
}

// wasTaken reports whether the consumer has taken a row of a stream, or one behind it.
func (l *memoryLeaf) wasTaken(x *search, h *memStream, row *memRow) bool {
	t := l.taken
	return t != nil && row.time == t.time && t.includes(x, h.of.labels, l.order, row.pos, row.off)
}

// adapt sets the step after a slice with n rows.
func (l *memoryLeaf) adapt(n int) {
	switch {
	case n < sliceRows/2 && l.step < 1<<61:
		l.step *= 2
	case n > 2*sliceRows:
		l.step = max(1, l.step/2)
	}
}

// has reports whether a row of a span is in the window.
func (l *memoryLeaf) has(x *search, span int, row *memRow) bool {
	return l.window.has(x.backward, func(m *mark) int { return l.compare(x, span, row, m) })
}

// compare compares a row of a span with a mark, in the order of a search forward.
func (l *memoryLeaf) compare(x *search, span int, row *memRow, m *mark) int {
	d := cmp.Compare(row.time, m.time)
	if d == 0 && span != int(m.span) {
		d = l.spans[span].of.labels.Compare(l.spans[m.span].of.labels)
	}
	if d == 0 {
		d = cmp.Or(cmp.Compare(row.pos, m.pos), cmp.Compare(row.off, m.row))
	}
	return d
}

func (l *memoryLeaf) counts() (rows, streams int64) {
	return l.rows, min(l.rows, int64(len(l.spans)))
}

func (l *memoryLeaf) stream(_ *reading, span int32) (string, uint32, error) {
	return l.spans[span].of.labels.enc, 0, nil
}

func (l *memoryLeaf) ids(r *reading) (func(pick) segment2.ID, error) {
	return func(p pick) segment2.ID { return l.mem.id(&r.rows[p.row]) }, nil
}

func (l *memoryLeaf) ref(_ *reading, span int32) streamRef {
	return streamRef{labels: l.spans[span].of.labels.enc}
}

// bytes returns the exact number, in any mode.
func (l *memoryLeaf) bytes(r *reading, picks []pick) (n int64, err error) {
	for _, p := range picks {
		n += int64(r.rows[p.row].lineLen() + len(r.meta(p)))
	}
	return n, nil
}

func (l *memoryLeaf) behind(last mark, first, raw int64) leaf {
	rest := *l
	rest.first, rest.size = first, raw
	rest.window = l.window.behind(last)
	return &rest
}

func (l *memoryLeaf) unread(x *search, f *results) leaf {
	again := *l
	again.extent, again.whole = f.extent(x), true
	edgeAt := func(r *resultRow) edge {
		span := slices.IndexFunc(l.spans, func(h *memStream) bool { return h.of.labels.enc == f.labels(r) })
		return edge{mark: mark{r.time, uint32(span), r.pos, r.row}, set: true}
	}
	again.window = window{edgeAt(f.first()), edgeAt(f.last())}
	return &again
}

func (l *memoryLeaf) between(first, last int64) leaf {
	part := *l
	part.first, part.last, part.whole = first, last, true
	return &part
}

func (l *memoryLeaf) corrupt(err error) error { return err }

// sealedParts relies on that nothing is added to the memtable any more.
func (l *memoryLeaf) sealedParts(x *search, to []sealedPart) ([]sealedPart, bool) {
	from, end := x.times(l.first, l.last)
	for span, h := range l.spans {
		rows := l.mem.all(h)
		part := rowRange{rowAt(rows, from), rowAt(rows, end), from, end - 1}
		if l.window.isCut() {
			part.cut(len(rows), x.backward, &l.window, func(i int, m *mark) int { return l.compare(x, span, &rows[i], m) })
		}
		x.cutAtCursor(&part, l.mem, h, rows)
		to = appendPart(to, h, part, h.totals())
	}
	return to, false
}

// memorySources pushes the memtables of the view. Streams that are created from
// now on have no entry that the search must find.
func (x *search) memorySources(behind *takenRow, push func(source)) {
	// A tenant with streams in a memtable of the view stays in the table.
	of := x.store.tenants.find(x.tenant)
	if of == nil {
		return
	}
	created := x.store.streams.created.Load()
	streams := x.selector.streams(x.store.labels, of.number)
	if streams != nil && streams.IsEmpty() {
		return
	}
	for i := range x.view.mems {
		if m := x.view.mems[i]; m != nil && m.count.Load() > 0 {
			push(x.newMemtableBranch(i, of, streams, created, behind))
		}
	}
}
