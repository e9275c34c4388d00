package logstore

import (
	"math/bits"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A fieldReading is what a reading keeps for fields.
type fieldReading struct {
	columns bool // fields of rows are to be read, which need not have lines
	whole   bool // of all rows of spans, and none are picked; else of the picks
	plans   []*block.FieldPlan
	rows    block.FieldRows
	spans   []fieldSpan // of selected rows, in order
	taken   []uint64    // the rows of the batch, as bits
	used    []bool      // templates of the table
	times   []int64
	ids     []segment2.ID
	batch   FieldBatch

	// Of a search with a fieldTest, rows as bits: those that match by their fields, those that
	// surely meet the rest, and those of the batch that match.
	passed, sure, matching []uint64
}

// A fieldSpan is rows of a span of a block.
type fieldSpan struct {
	span       int32
	first, end uint32
}

// begin begins a leaf.
func (f *fieldReading) begin() { f.columns, f.whole = false, false }

func (f *fieldReading) weight() int64 {
	return f.rows.Weight() + resultIDBytes*int64(cap(f.ids)) + 12*int64(cap(f.spans)) + 32*int64(cap(f.batch.Runs)+cap(f.batch.Fields)) + int64(cap(f.used)) + 8*int64(cap(f.times)+cap(f.plans)+cap(f.taken)+cap(f.passed)+cap(f.sure)+cap(f.matching))
}

// release forgets what belongs to a search.
func (f *fieldReading) release() {
	f.begin()
	clear(f.plans[:cap(f.plans)])
	f.rows.Release()
	clear(f.batch.Runs[:cap(f.batch.Runs)])
	clear(f.batch.Fields[:cap(f.batch.Fields)])
	f.batch.Times, f.batch.ids = nil, nil
}

// pickFields is pick for a search that wants fields. If r.fields.columns is set then,
// foldFields has more to do.
func (l *blockLeaf) pickFields(r *reading, bound int64) error {
	if err := l.openFrame(r); err != nil {
		return err
	}
	ok, err := l.planFields(r, r.x.fields)
	switch {
	case err != nil:
		return err
	case !ok:
		return l.pickRows(r, bound, unordered)
	case !l.isWhole(r.x, bound):
		err := l.pickRows(r, bound, withFields)
		r.fields.columns = r.fields.columns && len(r.picks) > 0
		return err
	}
	r.fields.columns, r.fields.whole = true, true
	return l.spanFields(r)
}

// withLines drops the picks that the filter of entries with lines does not match, and reads
// the lines of the others. What was counted of them is counted anew.
func (l *blockLeaf) withLines(r *reading) error {
	r.fields.columns = false
	n := int64(len(r.picks))
	r.stats.Lines -= n
	r.stats.Matched -= n
	switch {
	case n == 0:
		return nil
	case r.picksFew(): // their lines are cheaper than a search of all columns
		if err := l.rebuildPicks(r); err != nil {
			return err
		}
		return r.match(l)
	}
	return l.matchRows(r)
}

// isWhole reports whether the search selects all rows of the streams to be read, so that
// their times need not be looked at.
func (l *blockLeaf) isWhole(x *search, bound int64) bool {
	e, info := l.entry(), l.in.Info()
	from, to := x.times(l.first, bound)
	return x.fields.filter == nil && x.resume == nil && !l.window.isCut() && l.in.behind == nil && len(l.in.gone) == 0 &&
		(x.within.isAll() || info.After+1 >= x.within.since && x.within.has(info.Upto)) && from <= e.MinTime && e.MaxTime < to
}

// spanFields selects all rows of the streams to be read.
func (l *blockLeaf) spanFields(r *reading) error {
	f, rows := &r.fields, uint32(r.block.Rows())
	f.spans = f.spans[:0]
	for span, c := range l.spans(r.frame.Runs) {
		if uint64(c.first)+uint64(c.rows) > uint64(rows) {
			return l.corrupt(errRuns(int(rows), c))
		}
		f.spans = append(f.spans, fieldSpan{span, c.first, c.first + c.rows})
	}
	return l.wrapDamage(r.block.Metadata())
}

// matchFields is matchRows that reads no line that it can do without, if fields can be
// read.
func (l *blockLeaf) matchFields(r *reading) error {
	f := r.x.fields.filter
	r.fields.columns = f == nil || f.begin == nil && (f.lineless || r.templates.fields.match != nil)
	return l.matchRows(r)
}

// filter returns the filter of the entries that are picked.
func (r *reading) filter() *condition {
	if r.fields.columns {
		return r.x.fields.filter
	}
	return r.x.filter
}

// plan returns what filter asks of the templates of the block.
func (r *reading) plan() *template.Plan {
	if r.fields.columns {
		return r.templates.fields.match
	}
	return r.templates.plan
}

// noLines reports whether lines are read for the filter alone.
func (r *reading) noLines() bool { return r.x.noLines || r.fields.columns }

// planFields leaves the plans of a planner for the templates of the block in r.fields. ok is false if no
// row has fields.
func (l *blockLeaf) planFields(r *reading, by *fieldPlanner) (ok bool, err error) {
	f, d := &r.fields, &r.templates
	f.plans = f.plans[:0]
	if d.fields == nil {
		return false, nil
	}
	for _, t := range r.block.Table() {
		plan, err := d.fields.of(by, d.dictionary, t.ID)
		if err != nil {
			return false, err
		}
		ok = ok || plan != nil
		f.plans = append(f.plans, plan)
	}
	return ok, nil
}

// foldFields passes selected rows by their fields to a FieldFolder. It picks the others,
// and reads their lines.
func (l *blockLeaf) foldFields(r *reading, to Folder, fail func(error)) error {
	f := &r.fields
	f.none(r.block.Rows())
	var err error
	if _, ok := to.(FieldFolder); ok {
		err = l.takeFields(r, r.x.fields)
	}
	if err == nil {
		err = l.pickOthers(r)
	}
	if err != nil {
		fail(err)
		r.picks = r.picks[:0]
		return nil
	}
	r.count()
	if f.batch.Rows > 0 {
		r.turn.pass()
		if err := r.ended(); err != nil {
			return err
		}
		r.stats.ByFields += int64(f.batch.Rows)
		if err := to.(FieldFolder).FoldFields(&f.batch); err != nil {
			return err
		}
	}
	if err := l.withLines(r); err != nil {
		fail(err)
		r.picks = r.picks[:0]
	}
	return nil
}

// none makes an empty batch.
func (f *fieldReading) none(rows int) {
	f.batch.Rows = 0
	f.taken = append(f.taken[:0], make([]uint64, (rows+63)/64)...)
}

// takeFields makes a batch of the selected rows whose fields are known, and that have no
// metadata. It is empty if few rows are picked.
func (l *blockLeaf) takeFields(r *reading, by *fieldPlanner) error {
	f := &r.fields
	f.none(r.block.Rows())
	switch {
	case f.whole:
		f.spanRows()
	case r.picksFew():
		return nil
	default:
		f.spanPicks(r.picks)
	}
	if f.dropMetadata(&r.block); !f.takesSome() {
		return nil
	}
	if ok, err := l.dropPlans(r); !ok || err != nil {
		f.none(r.block.Rows())
		return err
	}
	if err := r.block.Fields(&f.rows, f.plans, by.of.Number); err != nil {
		return l.wrapDamage(err)
	}
	f.dropUnknown()
	if l.takeRuns(r); f.batch.Rows == 0 {
		return nil
	}
	return l.fillBatch(r, by)
}

// dropPlans drops the plans for templates that no row that is taken has, so that their columns
// are not read. ok is false if no plan is left.
func (l *blockLeaf) dropPlans(r *reading) (ok bool, err error) {
	f := &r.fields
	taken := 0
	for _, w := range f.taken {
		taken += bits.OnesCount64(w)
	}
	if taken == r.block.Rows() {
		return true, nil
	}
	of, err := r.block.RowTemplates()
	if err != nil {
		return false, l.wrapDamage(err)
	}
	f.used = append(f.used[:0], make([]bool, len(of.Table))...)
	for i, w := range f.taken {
		for ; w != 0; w &= w - 1 {
			f.used[of.Rows[64*i+bits.TrailingZeros64(w)]] = true
		}
	}
	for k, used := range f.used {
		if !used {
			f.plans[k] = nil
		}
		ok = ok || f.plans[k] != nil
	}
	return ok, nil
}
