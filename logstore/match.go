package logstore

import "slices"

// match drops the picks of a leaf that the filter of the search does not match. The
// error is a *PanicError, or that of ended.
func (r *reading) match(l leaf) (err error) {
	f := r.filter()
	if f == nil {
		r.stats.Lines += int64(len(r.picks))
		r.stats.Matched += int64(len(r.picks))
		return nil
	}
	// Texts are looked for in the order of rows, and a matcher begins a stream for each span.
	if f.begin != nil && f.any == nil && f.bare == nil && !r.order.several {
		r.orderForLimit(l)
	}
	looked, kept := 0, r.picks[:0]
	defer func() {
		r.stats.Lines += int64(looked)
		r.stats.Matched += int64(len(kept))
		r.picks = kept
	}()
	defer catchPanic(&err)
	test := func(p pick) bool { return f.match(r.line(p), r.meta(p)) }
	var m matcher
	if f.begin != nil {
		m = r.x.idle.take(f)
		test = r.entryTest(l, m)
	}
	next := func(i int) int { return i }
	switch {
	case r.judged != nil:
		test = r.judgedOr(test)
	case r.sure != nil:
		test = r.sureOr(f, test)
	case f.any != nil && r.scansText():
		next = r.candidates(f.any)
		if f.exact {
			test = func(pick) bool { return true }
		}
	case f.any == nil && f.bare != nil && r.scansText():
		next = r.orMetadata(r.candidates(f.bare))
	}
	tested := 0
	for i := next(0); i < len(r.picks); i = next(i + 1) {
		p := r.picks[i]
		if err := r.check(tested, r.line(p)); err != nil {
			return err
		}
		tested++
		looked = i + 1
		if test(p) {
			if kept = append(kept, p); r.order.done && len(kept) == r.x.limit {
				break
			}
		}
	}
	if !r.order.done {
		looked = len(r.picks)
	}
	if f.begin != nil { // and not deferred: one that has panicked is not used again
		r.x.idle.put(m)
	}
	return nil
}

// sureOr returns a test that passes rows that are known to match, and asks others. A
// condition on streams is always asked: it tells of labels that cannot be read.
func (r *reading) sureOr(f *condition, test func(pick) bool) func(pick) bool {
	if f.begin != nil {
		return test
	}
	return func(p pick) bool { return hasRow(r.sure, p.row) || test(p) }
}

// entryTest returns a test by a matcher of the search. Entries of a span whose labels
// cannot be read do not match, and that is told once for the span: what the matcher would
// say of other labels is no answer.
func (r *reading) entryTest(l leaf, m matcher) func(pick) bool {
	e := &r.asked
	*e = matched{}
	span, on := int32(-1), false
	return func(p pick) bool {
		if p.span != span {
			span = p.span
			enc, _, err := l.stream(r, span)
			if on = err == nil; on {
				on = m.stream(r.x.store.names.of(enc))
			} else if !slices.Contains(r.unread, span) {
				r.unread = append(r.unread, span)
				r.damage = append(r.damage, err)
			}
		}
		if !on {
			return false
		}
		e.time, e.line, e.meta = p.time, r.line(p), r.meta(p)
		return m.match(e)
	}
}

// scansText reports whether it pays to look for the texts of the filter in all lines at
// once: the picks are most of the lines between the first and the last of them.
func (r *reading) scansText() bool {
	if r.mem != nil || r.lineless || len(r.picks) == 0 {
		return false
	}
	_, starts := r.block.Text()
	last, size := int32(-1), uint32(0)
	for _, p := range r.picks {
		if p.row <= last {
			return false
		}
		last = p.row
		size += starts[p.row+1] - starts[p.row]
	}
	return size >= (starts[last+1]-starts[r.picks[0].row])/2
}

// orMetadata returns a function for the first pick from the i-th on that is a candidate or has
// metadata; i must grow.
func (r *reading) orMetadata(candidate func(i int) int) func(i int) int {
	found := -1
	return func(i int) int {
		if found < i {
			found = candidate(i)
		}
		for ; i < found; i++ {
			if len(r.meta(r.picks[i])) > 0 {
				break
			}
		}
		return i
	}
}

// candidates returns a function for the number of the first pick from the i-th on whose
// line has one of the texts; i must grow.
func (r *reading) candidates(of literals) func(i int) int {
	text, starts := r.block.Text()
	first, last := r.picks[0].row, r.picks[len(r.picks)-1].row
	r.literals.begin(of, text[:starts[last+1]], int(starts[first]))
	picks := r.picks
	return func(i int) int {
		if i == len(picks) {
			return i
		}
		for at := int(starts[picks[i].row]); ; {
			begin, end := r.literals.hit(at)
			for i < len(picks) && int(starts[picks[i].row+1]) <= begin {
				i++
			}
			if i == len(picks) {
				return i
			}
			from, to := int(starts[picks[i].row]), int(starts[picks[i].row+1]-1)
			switch {
			case begin < from: // in a line that is not picked
				at = from
			case end > to: // in two lines
				at = begin + 1
			default:
				return i
			}
		}
	}
}
