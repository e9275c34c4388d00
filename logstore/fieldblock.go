package logstore

import (
	"cmp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
)

// A fieldReading is what a reading keeps for fields.
type fieldReading struct {
	columns bool // fields of the picks are to be read, which need not have lines
	plans   []*block.FieldPlan
	rows    block.FieldRows
	picks   []pick // that are passed by their fields
	times   []int64
	batch   FieldBatch
}

func (f *fieldReading) weight() int64 {
	return f.rows.Weight() + pickBytes*int64(cap(f.picks)) + 8*int64(cap(f.times)+cap(f.plans))
}

// release forgets what belongs to a search.
func (f *fieldReading) release() {
	f.columns = false
	clear(f.plans)
	f.rows.Release()
	clear(f.batch.Runs[:cap(f.batch.Runs)])
	clear(f.batch.Fields[:cap(f.batch.Fields)])
}

// matchFields is matchRows that reads no line that it can do without, if fields can be
// read.
func (l *blockLeaf) matchFields(r *reading) error {
	ok, err := l.planFields(r)
	if err != nil {
		return err
	}
	f := r.x.filter
	r.fields.columns = ok && (f == nil || f.begin == nil && (f.lineless || r.templates.plan != nil))
	return l.matchRows(r)
}

// noLines reports whether lines are read for the filter alone.
func (r *reading) noLines() bool { return r.x.noLines || r.fields.columns }

// planFields leaves the plans for the templates of the block in r.fields. ok is false if no
// row has fields.
func (l *blockLeaf) planFields(r *reading) (ok bool, err error) {
	f, d := &r.fields, &r.templates
	f.plans = f.plans[:0]
	if d.fields == nil {
		return false, nil
	}
	for _, t := range r.block.Table() {
		plan, err := d.fields.of(r.x.fields, d.dictionary, t.ID)
		if err != nil {
			return false, err
		}
		ok = ok || plan != nil
		f.plans = append(f.plans, plan)
	}
	return ok, nil
}

// foldFields passes picks by their fields to a FieldFolder. It leaves the others, and
// their lines.
func (l *blockLeaf) foldFields(r *reading, to Folder, fail func(error)) error {
	f := &r.fields
	f.picks = f.picks[:0]
	if to, ok := to.(FieldFolder); ok {
		if err := l.wrapDamage(r.block.Fields(&f.rows, f.plans, r.x.fields.of.Number)); err != nil {
			fail(err)
			r.picks = r.picks[:0]
			return nil
		}
		f.takeKnown(r)
		r.count()
		if len(f.picks) > 0 && l.makeBatch(r, fail) {
			r.turn.pass()
			if err := r.ended(); err != nil {
				return err
			}
			r.stats.ByFields += int64(len(f.batch.Times))
			if err := to.FoldFields(&f.batch); err != nil {
				return err
			}
		}
	}
	if len(r.picks) == 0 {
		return nil
	}
	f.columns = false
	if err := l.rebuildPicks(r); err != nil {
		fail(err)
		r.picks = r.picks[:0]
	}
	return nil
}

// takeKnown moves the picks whose fields are known, and that have no metadata, from those
// of the reading.
func (f *fieldReading) takeKnown(r *reading) {
	others := r.picks[:0]
	for _, p := range r.picks {
		if hasRow(f.rows.Known, p.row) && len(r.block.Meta(int(p.row))) == 0 {
			f.picks = append(f.picks, p)
		} else {
			others = append(others, p)
		}
	}
	r.picks = others
}

// makeBatch makes the batch of the picks taken. It reports whether it has rows: those of
// streams whose labels cannot be read are left out, and told.
func (l *blockLeaf) makeBatch(r *reading, fail func(error)) bool {
	f, b := &r.fields, &r.fields.batch
	if !slices.IsSortedFunc(f.picks, func(a, b pick) int { return cmp.Compare(a.row, b.row) }) {
		slices.SortFunc(f.picks, func(a, b pick) int { return cmp.Compare(a.row, b.row) })
	}
	b.Runs, f.times = b.Runs[:0], f.times[:0]
	kept := f.picks[:0]
	for i := 0; i < len(f.picks); {
		end := i + 1
		for end < len(f.picks) && f.picks[end].span == f.picks[i].span {
			end++
		}
		enc, _, err := l.stream(r, f.picks[i].span)
		if err != nil {
			fail(err)
		} else {
			b.Runs = append(b.Runs, FieldRun{r.x.store.names.of(enc), len(kept), end - i})
			kept = append(kept, f.picks[i:end]...)
		}
		i = end
	}
	f.picks = kept
	b.Fields = slices.Grow(b.Fields[:0], r.x.fields.of.Number)[:r.x.fields.of.Number]
	for i := range b.Fields {
		b.Fields[i] = FieldColumn{Codes: f.rows.Codes[i], values: &f.rows.Values[i]}
	}
	if times, err := r.block.Times(); err == nil && len(kept) == len(times) {
		b.Times = times
		return true
	}
	for _, p := range kept {
		f.times = append(f.times, p.time)
	}
	b.Times = f.times
	for i := range b.Fields {
		codes := b.Fields[i].Codes
		for to, p := range kept { // rows rise, so none is written before it is read
			codes[to] = codes[p.row]
		}
		b.Fields[i].Codes = codes[:len(kept)]
	}
	return len(kept) > 0
}
