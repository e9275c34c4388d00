package logstore

import (
	"math/bits"
	"slices"

	"github.com/stele-go/stele/internal/setting"
)

// A FieldMatcher is an EntryMatcher that can tell by fields of a line whether an entry
// matches.
type FieldMatcher interface {
	EntryMatcher
	// MatchFields sets the bits of the rows of a batch that match: row i is bit i%64 of
	// matching[i/64]. None is set before. Rows have no metadata and no times, and match if
	// Match reports so of their entries. Batch and bits are valid during the call only, which
	// ends the stream that Stream has begun.
	MatchFields(b *FieldBatch, matching []uint64)
}

// FieldFilter is EntryFilter for FieldMatchers: an entry in a block of CodecColumns whose
// fields f tells, as it does for Query.Fields, is tested by these, and its line is made only if
// it matches and somebody reads it. Other entries are tested as EntryFilter does.
//
// f.Needs, unless nil, matches every entry that FieldMatchers match. f.NoTimes must be nil. An
// error is that of a wrong field.
//
// Lines are tested where the FieldFilter is in an Any or a Not, or in an All with another
// FieldFilter or an EntryFilter.
func FieldFilter(f Fields, begin func() FieldMatcher) (Filter, error) {
	if err := f.check("Fields"); err != nil {
		return nil, err
	}
	if f.NoTimes != nil {
		return nil, setting.Wrong("logstore: Fields.NoTimes", "a function", "nil for FieldFilter")
	}
	c := EntryFilter(func() EntryMatcher { return begin() }).compiled()
	if f.Needs != nil {
		c = All(f.Needs, c).compiled()
	}
	c.fields = &fieldTest{of: f}
	return c, nil
}

// A fieldTest says how fields tell whether an entry without metadata matches.
type fieldTest struct {
	of   Fields
	rest *condition // of line and metadata, that must match too; nil: nothing
}

// allFields returns the fieldTest of All, nil if it has none.
func allFields(list []*condition) *fieldTest {
	at := slices.IndexFunc(list, func(c *condition) bool { return c.fields != nil })
	if at < 0 {
		return nil
	}
	of := list[at].fields
	var rest []Filter
	for i, c := range list {
		switch {
		case i == at:
			continue
		case c.begin != nil:
			return nil
		}
		rest = append(rest, c)
	}
	if of.rest != nil {
		rest = append(rest, of.rest)
	}
	t := &fieldTest{of: of.of}
	switch len(rest) {
	case 0:
	case 1:
		t.rest = rest[0].compiled()
	default:
		t.rest = All(rest...).compiled()
	}
	return t
}

// fieldMatcherOf returns the FieldMatcher in a matcher of a condition with a fieldTest.
func fieldMatcherOf(m matcher) FieldMatcher {
	switch m := m.(type) {
	case *callerMatcher:
		of, _ := m.of.(FieldMatcher)
		return of
	case allMatcher:
		for _, one := range slices.Backward(m) {
			if of := fieldMatcherOf(one); of != nil {
				return of
			}
		}
	}
	return nil
}

// fewRows is how many times more rows than picks a block has, if lines of the picks are cheaper
// than a look at all of its columns.
const fewRows = 32

// picksFew reports whether few rows are picked.
func (r *reading) picksFew() bool { return fewRows*len(r.picks) < r.block.Rows() }

// judgeRows is matchRows by fields. done is false if columns are to be searched as for any
// filter: if the block has no fields or is damaged, which lines tell, or if few rows are picked.
func (l *blockLeaf) judgeRows(r *reading) (done bool, err error) {
	f, looked := &r.fields, len(r.picks)
	if ok, err := l.planFields(r, r.x.judge); !ok || err != nil {
		return false, err
	}
	searched, err := l.searchRest(r)
	if err != nil {
		return false, nil
	}
	r.stats.Lines += int64(looked - len(r.picks))
	switch {
	case len(r.picks) == 0:
		return true, nil
	case r.picksFew() && searched: // their lines are cheaper than another search
		return true, l.matchPicked(r)
	case r.picksFew() || r.block.Metadata() != nil:
		return false, nil
	case l.takeFields(r, r.x.judge) != nil:
		return false, nil
	case f.batch.Rows > 0:
	case searched && r.x.judge.of.Needs == nil:
		return true, l.matchPicked(r)
	default:
		return false, nil
	}
	r.count()
	if err := l.judgeBatch(r); err != nil {
		return false, err
	}
	looked = len(r.picks)
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return hasRow(f.taken, p.row) && !hasRow(f.passed, p.row) })
	r.stats.ByFields += int64(looked - len(r.picks))
	l.searchOthers(r)
	r.stats.Lines += int64(looked - len(r.picks))
	if len(r.picks) == 0 {
		return true, nil
	}
	r.judged, r.sure = f.passed, f.sure
	defer func() { r.judged, r.sure = nil, nil }()
	r.dropBeyondLimit(l)
	return true, l.matchPicked(r)
}

// matchPicked reads lines of the picks, and drops those that the filter does not match.
func (l *blockLeaf) matchPicked(r *reading) error {
	if err := l.readPicked(r); err != nil {
		return err
	}
	return r.match(l)
}

// searchRest drops the picks that do not meet the rest of the fieldTest, and leaves in
// r.fields.sure the rows that surely do. searched reports whether columns were asked for that.
func (l *blockLeaf) searchRest(r *reading) (searched bool, err error) {
	f, judge := &r.fields, r.x.judge
	f.sure = append(f.sure[:0], make([]uint64, (r.block.Rows()+63)/64)...)
	if judge.filter == nil {
		for i := range f.sure {
			f.sure[i] = ^uint64(0)
		}
		return false, nil
	}
	plan := r.templates.fields.match
	if plan == nil {
		return false, nil
	}
	found, ok, err := r.block.Search(plan)
	if !ok || err != nil {
		return false, err
	}
	copy(f.sure, found.Sure)
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return !hasRow(found.May, p.row) })
	return true, nil
}

// judgeBatch leaves the rows of the batch that match in r.fields.passed.
func (l *blockLeaf) judgeBatch(r *reading) (err error) {
	f := &r.fields
	r.turn.pass()
	if err := r.ended(); err != nil {
		return err
	}
	f.passed = append(f.passed[:0], make([]uint64, len(f.taken))...)
	f.matching = append(f.matching[:0], make([]uint64, (f.batch.Rows+63)/64)...)
	m := r.x.idle.take(r.x.filter)
	defer catchPanic(&err)
	fieldMatcherOf(m).MatchFields(&f.batch, f.matching)
	r.x.idle.put(m) // and not deferred: one that has panicked is not used again
	row := 0
	for i, w := range f.taken {
		for ; w != 0; w &= w - 1 {
			if hasRow(f.matching, int32(row)) {
				f.passed[i] |= w & -w
			}
			row++
		}
	}
	return nil
}

// searchOthers drops the picks that are not judged and that the filter of the search surely does
// not match, if there are more than a few, and Needs tells more than the rest has told.
func (l *blockLeaf) searchOthers(r *reading) {
	f, others := &r.fields, len(r.picks)
	for i := range f.passed {
		others -= bits.OnesCount64(f.passed[i])
	}
	if fewRows*others < r.block.Rows() || r.templates.plan == nil || r.x.judge.of.Needs == nil {
		return
	}
	found, ok, err := r.block.Search(r.templates.plan)
	if !ok || err != nil {
		return
	}
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return !hasRow(f.passed, p.row) && !hasRow(found.May, p.row) })
}

// isSure reports whether the line of a pick need not be tested.
func (r *reading) isSure(p pick) bool {
	return hasRow(r.sure, p.row) && (r.judged == nil || hasRow(r.judged, p.row))
}

// judgedOr returns a test that passes rows that fields tell to match, if they meet the rest, and
// asks others.
func (r *reading) judgedOr(test func(pick) bool) func(pick) bool {
	rest := r.x.judge.filter
	return func(p pick) bool {
		if !hasRow(r.judged, p.row) {
			return test(p)
		}
		return r.isSure(p) || rest.match(r.line(p), r.meta(p))
	}
}
