package logstore

import (
	"cmp"
	"slices"
	"strings"
)

// comparePicks orders picks by time. Those with equal times keep the order of
// their spans and rows.
func comparePicks(a, b pick) int {
	switch {
	case a.time != b.time:
		return cmp.Compare(a.time, b.time)
	case a.span != b.span:
		return cmp.Compare(a.span, b.span)
	}
	return cmp.Compare(a.row, b.row)
}

// A spanName orders the spans of a leaf whose entries have equal times.
type spanName struct {
	sortKey string // of its labels
	seq     uint32
	lost    bool // the labels cannot be read
}

func compareNames(a, b spanName) int {
	return cmp.Or(strings.Compare(a.sortKey, b.sortKey), cmp.Compare(a.seq, b.seq))
}

// sortPicks puts the picks of several spans of l into the order of a search
// forward: by time, and those with equal times by labels, seq and row. Labels
// are asked for only where they decide.
func (r *reading) sortPicks(l leaf) {
	slices.SortFunc(r.picks, comparePicks)
	for rest := r.picks; len(rest) > 1; {
		n := 1
		for n < len(rest) && rest[n].time == rest[0].time {
			n++
		}
		if rest[0].span != rest[n-1].span {
			slices.SortStableFunc(rest[:n], func(a, b pick) int { return r.compareSpans(l, a.span, b.span) })
		}
		rest = rest[n:]
	}
}

// A pickOrder is how far the picks of a block are put into the order of the search.
type pickOrder struct {
	several bool // they are of several spans
	limited bool // those beyond the limit of the search are of no use
	done    bool // they are in that order
}

// orderPicks puts the picks into the order of the search, or, unless spans count, those of each
// span.
func (r *reading) orderPicks(l leaf, spans bool) {
	if r.order.done {
		return
	}
	if spans && r.order.several {
		r.sortPicks(l)
	}
	if r.x.backward {
		slices.Reverse(r.picks)
	}
}

// orderForLimit puts the picks into the order of the search before they are matched, if that
// ends at its limit.
func (r *reading) orderForLimit(l leaf) {
	if r.order.limited && len(r.picks) > r.x.limit {
		r.orderPicks(l, true)
		r.order.done = true
	}
}

// dropBeyondLimit drops picks whose lines a limited search does not need: those that follow as
// many sure matches as its limit. Their lines are not made.
func (r *reading) dropBeyondLimit(l leaf) {
	if !r.order.limited || r.filter().begin != nil && r.judged == nil {
		return
	}
	left := r.x.limit
	for _, p := range r.picks {
		if r.isSure(p) {
			left--
		}
	}
	if left > 0 {
		return
	}
	r.orderForLimit(l)
	left = r.x.limit
	beyond := func(p pick) bool {
		if r.isSure(p) {
			left--
		}
		return left == 0
	}
	if i := slices.IndexFunc(r.picks, beyond); i >= 0 {
		r.picks = r.picks[:i+1]
	}
}

// compareSpans is the order of the entries of two spans with equal times. Spans
// whose labels cannot be read are in the order of their numbers: they have no
// results.
func (r *reading) compareSpans(l leaf, a, b int32) int {
	if a == b {
		return 0
	}
	n, m := r.spanName(l, a), r.spanName(l, b)
	if n.lost || m.lost {
		return cmp.Compare(a, b)
	}
	return compareNames(n, m)
}

func (r *reading) spanName(l leaf, span int32) spanName {
	n, ok := r.names[span]
	if !ok {
		labels, seq, err := l.stream(r, span)
		n = spanName{Labels{labels}.sortKey(), seq, err != nil}
		if r.names == nil {
			r.names = map[int32]spanName{}
		}
		r.names[span] = n
	}
	return n
}

// reset begins a pick: of memory, or, if mem is nil, of a block.
func (r *reading) reset(mem *memtable) {
	r.mem, r.rows, r.picks, r.order = mem, r.rows[:0], r.picks[:0], pickOrder{}
	r.ids, r.linesRead, r.lineless = r.ids[:0], false, false
	clear(r.names)
}
