package logstore

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
)

// spanRows takes all rows of the spans.
func (f *fieldReading) spanRows() {
	for _, s := range f.spans {
		for row := s.first; row < s.end; {
			n := min(64-row%64, s.end-row)
			f.taken[row/64] |= ^uint64(0) >> (64 - n) << (row % 64)
			row += n
		}
	}
	f.sortSpans()
}

// spanPicks takes the rows of picks, and makes spans of them.
func (f *fieldReading) spanPicks(picks []pick) {
	f.spans = f.spans[:0]
	for _, p := range picks {
		row := uint32(p.row)
		f.taken[row/64] |= 1 << (row % 64)
		if n := len(f.spans); n == 0 || f.spans[n-1].span != p.span || f.spans[n-1].end > row {
			f.spans = append(f.spans, fieldSpan{p.span, row, row})
		}
		f.spans[len(f.spans)-1].end = row + 1
	}
	f.sortSpans()
}

func (f *fieldReading) sortSpans() {
	order := func(a, b fieldSpan) int { return cmp.Compare(a.first, b.first) }
	if !slices.IsSortedFunc(f.spans, order) {
		slices.SortFunc(f.spans, order)
	}
}

// count returns how many rows of a span are taken.
func (f *fieldReading) count(s fieldSpan) (n int) {
	for row := s.first; row < s.end; {
		k := min(64-row%64, s.end-row)
		n += bits.OnesCount64(f.taken[row/64] >> (row % 64) << (64 - k))
		row += k
	}
	return n
}

// drop takes none of the rows of a span.
func (f *fieldReading) drop(s fieldSpan) {
	for row := s.first; row < s.end; row++ {
		f.taken[row/64] &^= 1 << (row % 64)
	}
}

// dropMetadata drops rows with metadata.
func (f *fieldReading) dropMetadata(b *block.Decoder) {
	if !b.HasMeta() {
		return
	}
	for row := range b.Rows() {
		if len(b.Meta(row)) > 0 {
			f.taken[row/64] &^= 1 << (row % 64)
		}
	}
}

// takesSome reports whether a row is taken.
func (f *fieldReading) takesSome() bool {
	return slices.ContainsFunc(f.taken, func(w uint64) bool { return w != 0 })
}

// dropUnknown drops rows whose fields are not known.
func (f *fieldReading) dropUnknown() {
	for i, known := range f.rows.Known {
		f.taken[i] &= known
	}
}

// takeRuns makes the runs of the batch. Rows of streams whose labels cannot be read are
// dropped: the damage is told where they are read as lines.
func (l *blockLeaf) takeRuns(r *reading) {
	f := &r.fields
	b := &f.batch
	b.Runs, b.Rows = b.Runs[:0], 0
	for _, s := range f.spans {
		n := f.count(s)
		if n == 0 {
			continue
		}
		enc, _, err := l.stream(r, s.span)
		if err != nil {
			f.drop(s)
			continue
		}
		b.Runs = append(b.Runs, FieldRun{r.x.store.names.of(enc), b.Rows, n})
		b.Rows += n
	}
}

// fillBatch fills in the fields of the rows taken, and times and positions unless a FieldMatcher
// takes them, which may ask for neither.
func (l *blockLeaf) fillBatch(r *reading, by *fieldPlanner) error {
	f, x, e := &r.fields, r.x, l.entry()
	b := &f.batch
	b.First, b.Last, b.Times = max(e.MinTime, x.from), min(e.MaxTime, x.to-1), nil
	all := b.Rows == r.block.Rows()
	if b.ids = nil; x.cursors && by != x.judge {
		if err := l.fillIDs(r, all); err != nil {
			return err
		}
	}
	if no := by.of.NoTimes; by != x.judge && (x.cursors || no == nil || !no(b.First, b.Last)) {
		times, err := r.block.Times()
		if err != nil {
			return l.wrapDamage(err)
		}
		if b.Times = times; !all {
			f.times = slices.Grow(f.times[:0], len(times))[:len(times)]
			b.Times = compacted(f.times, times, f.taken)
		}
	}
	b.Fields = slices.Grow(b.Fields[:0], by.of.Number)[:by.of.Number]
	for i := range b.Fields {
		codes := f.rows.Codes[i]
		if !all {
			codes = compacted(codes, codes, f.taken)
		}
		b.Fields[i] = FieldColumn{Codes: codes, values: &f.rows.Values[i]}
	}
	return nil
}

// fillIDs fills in what cursors of the rows taken have.
func (l *blockLeaf) fillIDs(r *reading, all bool) error {
	f := &r.fields
	ids, err := l.readIDs(r)
	if err != nil {
		return err
	}
	if f.batch.ids = ids; !all {
		f.ids = slices.Grow(f.ids[:0], len(ids))[:len(ids)]
		f.batch.ids = compacted(f.ids, ids, f.taken)
	}
	return nil
}

// compacted copies the elements of src whose bits are set to dst, which has as much space
// and may be src, and returns them.
func compacted[T any](dst, src []T, set []uint64) []T {
	n := 0
	for i, w := range set {
		at := 64 * i
		if w == ^uint64(0) {
			n += copy(dst[n:n+64], src[at:at+64])
			continue
		}
		for ; w != 0; w &= w - 1 {
			dst[n] = src[at+bits.TrailingZeros64(w)]
			n++
		}
	}
	return dst[:n]
}

// pickOthers leaves the selected rows that are not taken in r.picks.
func (l *blockLeaf) pickOthers(r *reading) error {
	f := &r.fields
	if !f.whole {
		r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return hasRow(f.taken, p.row) })
		return nil
	}
	rows := 0
	for _, s := range f.spans {
		rows += int(s.end - s.first)
	}
	r.stats.Lines += int64(rows)
	r.stats.Matched += int64(rows)
	if rows == f.batch.Rows {
		return nil
	}
	times, err := r.block.Times()
	if err != nil {
		return l.wrapDamage(err)
	}
	for _, s := range f.spans {
		for row := s.first; row < s.end; row++ {
			if !hasRow(f.taken, int32(row)) {
				r.picks = append(r.picks, pick{times[row], s.span, int32(row)})
			}
		}
	}
	return nil
}
