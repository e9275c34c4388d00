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
	r.mem, r.rows, r.picks = mem, r.rows[:0], r.picks[:0]
	r.ids, r.linesRead, r.lineless = r.ids[:0], false, false
	clear(r.names)
}
