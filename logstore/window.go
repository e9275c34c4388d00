package logstore

import "sort"

// A window is the part of a leaf between two entries, in the order of the
// search. The zero value is all of the leaf.
type window struct {
	low, high edge
}

// An edge is one end of a window.
type edge struct {
	mark
	set  bool // else the leaf ends by itself
	open bool // the entry at the mark is outside
}

// behind returns the part of w that follows the entry at m.
func (w window) behind(m mark) window {
	w.low = edge{m, true, true}
	return w
}

// isCut reports whether a leaf may have entries outside.
func (w *window) isCut() bool { return w.low.set || w.high.set }

// has reports whether an entry is inside. compare compares it with a mark, in
// the order of a search forward.
func (w *window) has(backward bool, compare func(*mark) int) bool {
	return !w.before(backward, compare) && !w.after(backward, compare)
}

// before reports whether an entry comes before w in the order of the search.
func (w *window) before(backward bool, compare func(*mark) int) bool {
	if !w.low.set {
		return false
	}
	d := compare(&w.low.mark)
	return d == 0 && w.low.open || d < 0 && !backward || d > 0 && backward
}

// after reports whether an entry comes after w in the order of the search.
func (w *window) after(backward bool, compare func(*mark) int) bool {
	if !w.high.set {
		return false
	}
	d := compare(&w.high.mark)
	return d == 0 && w.high.open || d > 0 && !backward || d < 0 && backward
}

// cut cuts the range to the rows in w. compare compares a row of the stream with
// a mark.
func (p *rowRange) cut(rows int, backward bool, w *window, compare func(i int, m *mark) int) {
	before := func(i int) bool { return w.before(backward, func(m *mark) int { return compare(i, m) }) }
	after := func(i int) bool { return w.after(backward, func(m *mark) int { return compare(i, m) }) }
	if backward {
		before, after = after, before
	}
	p.first = max(p.first, sort.Search(rows, func(i int) bool { return !before(i) }))
	p.end = min(p.end, sort.Search(rows, after))
}
