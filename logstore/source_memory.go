package logstore

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A memoryLeaf is the rows of a stream in a memtable, with times in its range of
// keys. It is read in slices of time, each of about as many entries as are
// wanted at once.
type memoryLeaf struct {
	extent
	labels *streamLabels
	mem    *memtable
	step   int64 // of time, of the next slice
	once   bool  // it is read whole

	// If hasAfter, only entries behind after in the order of the search are left.
	after    mark
	hasAfter bool
}

const (
	sliceRows    = 1 << 10 // entries of a slice of memory
	minSliceRows = 1 << 6
)

// memorySources pushes a source for each of the streams, all if streams is nil,
// in each memtable.
func memorySources(x *search, streams *roaring.Bitmap, totals summarizer, push func(source)) (err error) {
	for i, m := range x.view.mems {
		m.eachStream(func(n uint32, min, max, rows, raw int64) {
			if err != nil || max < x.from || min >= x.to || streams != nil && !streams.Contains(n) {
				return
			}
			var labels *streamLabels
			if labels, err = x.labels.get(n); err != nil {
				return
			}
			if totals != nil && totals.whole(labels, min, max, rows, raw) {
				return
			}
			l := &memoryLeaf{labels: labels, mem: m, step: firstStep(x, max-min, rows)}
			l.first, l.last = x.keys(min, max)
			l.size, l.order = raw, memoryRank(i)
			push(l)
		})
	}
	return err
}

// firstStep returns about the time range of a first slice.
func firstStep(x *search, span, rows int64) int64 {
	want := int64(sliceRows)
	if x.limit > 0 && x.filter == nil {
		want = min(want, max(minSliceRows, 2*int64(x.limit)))
	}
	if rows <= want {
		return max(1, span+1)
	}
	return int64(float64(span)/float64(rows)*float64(want)) + 1
}

// pick picks the entries of the next slice.
func (l *memoryLeaf) pick(r *reading, bound int64, mode pickMode) (rest leaf, err error) {
	x := r.x
	last := min(l.last, bound)
	if !l.once && last-l.first >= l.step {
		last = l.first + l.step - 1
	}
	from, to := x.times(l.first, last)
	r.mem, r.picks = l.mem, r.picks[:0]
	r.rows = l.mem.rows(r.rows[:0], l.labels.stream, from, to)
	l.adapt(len(r.rows))
	if last < l.last && last < bound {
		next := *l
		next.first = last + 1
		next.size = int64(float64(l.size) * float64(l.last-last) / float64(l.last-l.first))
		rest = &next
	}
	var absent = x.chunks.results(l.mem)
	if mode == timesOnly {
		absent = nil
	}
	for i := range r.rows {
		row := &r.rows[i]
		if x.chunks.excludes(absent, l.mem, uint32(row.chunk)) || l.hasAfter && !l.isBehind(x, row) {
			continue
		}
		r.picks = append(r.picks, pick{row.time, 0, int32(i)})
	}
	if mode == withLines {
		err = r.match()
	}
	if x.backward {
		slices.Reverse(r.picks)
	}
	return rest, err
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

// isBehind reports whether a row comes behind l.after.
func (l *memoryLeaf) isBehind(x *search, row *memRow) bool {
	d := compareMarks(mark{row.time, 0, row.pos, row.off}, l.after)
	if x.backward {
		return d < 0
	}
	return d > 0
}

func (l *memoryLeaf) stream(*reading, int32) (*streamLabels, uint32, error) { return l.labels, 0, nil }

// bytes returns the exact number, in any mode.
func (l *memoryLeaf) bytes(r *reading, picks []pick) (n int64, err error) {
	for _, p := range picks {
		n += int64(r.rows[p.row].lineLen() + len(r.meta(p)))
	}
	return n, nil
}

func (l *memoryLeaf) behind(last mark, first, raw int64) leaf {
	rest := *l
	rest.after, rest.hasAfter = last, true
	rest.first, rest.size = first, raw
	return &rest
}

func (l *memoryLeaf) between(first, last int64) leaf {
	part := *l
	part.first, part.last, part.once = first, last, true
	return &part
}

// corrupt returns err: memory has no file that could be damaged.
func (l *memoryLeaf) corrupt(err error) error { return err }

func (l *memoryLeaf) memtable() *memtable { return l.mem }

func (l *memoryLeaf) sealedParts(x *search, to []sealedPart) []sealedPart {
	rows := l.mem.all(l.mem.streams.Get(l.labels.stream))
	at := func(time int64) int {
		i, _ := slices.BinarySearchFunc(rows, time, func(r memRow, t int64) int { return cmp.Compare(r.time, t) })
		return i
	}
	from, end := x.times(l.first, l.last)
	t := rowRange{at(from), at(end), from, end - 1}
	if l.hasAfter {
		i, _ := slices.BinarySearchFunc(rows, memRow{time: l.after.time, pos: l.after.pos, off: l.after.row}, compareRows)
		if x.backward {
			t.end = min(t.end, i)
		} else {
			t.first = max(t.first, i+1)
		}
	}
	if t.first >= t.end {
		return to
	}
	return append(to, sealedPart{l.labels.stream, t})
}
