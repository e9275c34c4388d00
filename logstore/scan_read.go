package logstore

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/block"
)

// scanBlock picks the entries of a candidate with keys up to bound.
func (x *search) scanBlock(w *reading, c candidate, bound int64, mode pickMode) error {
	b := c.block
	from, to := x.times(c.start, bound)
	several, err := w.pickTimes(b, from, to)
	if err != nil {
		return err
	}
	if mode == withLines && len(w.picks) > 0 {
		if err := w.block.Lines(); err != nil {
			return b.wrapDamage(err)
		}
		if err := w.match(); err != nil {
			return err
		}
		if several {
			slices.SortFunc(w.picks, comparePicks)
		}
	}
	if x.backward {
		slices.Reverse(w.picks)
	}
	w.picks = slices.Delete(w.picks, 0, min(c.skip, len(w.picks)))
	return nil
}

// pickTimes reads a block without its lines, and picks the rows of its spans with
// times in [from, to), span by span. several reports that more than one span has
// some.
func (w *reading) pickTimes(b *blockSource, from, to int64) (several bool, err error) {
	w.mem, w.picks = nil, w.picks[:0]
	if w.stored, err = b.segs.ReadBlock(w.stored[:0], b.segment, b.block); err != nil {
		return false, err
	}
	if err := w.block.Open(w.stored); err != nil {
		return false, b.wrapDamage(err)
	}
	times, err := w.block.Times()
	if err != nil {
		return false, b.wrapDamage(err)
	}
	spans := 0
	for i, sp := range b.spans {
		if sp.max < from || sp.min >= to {
			continue
		}
		if sp.first < 0 || sp.rows < 0 || sp.first > len(times)-sp.rows {
			return false, b.wrapDamage(fmt.Errorf("%w: it has %d rows, and the index %d from row %d", block.ErrDamaged, len(times), sp.rows, sp.first))
		}
		run := times[sp.first : sp.first+sp.rows]
		first := sort.Search(len(run), func(i int) bool { return run[i] >= from })
		end := first + sort.Search(len(run)-first, func(i int) bool { return run[first+i] >= to })
		for row := first; row < end; row++ {
			w.picks = append(w.picks, pick{run[row], int32(i), int32(sp.first + row)})
		}
		if first < end {
			spans++
		}
	}
	return spans > 1, nil
}

// comparePicks orders picks of a block by time. Those with equal times keep the
// order of their spans and rows.
func comparePicks(a, b pick) int {
	switch {
	case a.time != b.time:
		return cmp.Compare(a.time, b.time)
	case a.span != b.span:
		return cmp.Compare(a.span, b.span)
	}
	return cmp.Compare(a.row, b.row)
}

const (
	sliceRows    = 1 << 10 // entries of a slice of memory
	minSliceRows = 1 << 6
)

// firstStep returns about the time range of a first slice.
func (x *search) firstStep(span, rows int64) int64 {
	want := int64(sliceRows)
	if x.limit > 0 && x.filter == nil {
		want = min(want, max(minSliceRows, 2*int64(x.limit)))
	}
	if rows <= want {
		return max(1, span+1)
	}
	return int64(float64(span)/float64(rows)*float64(want)) + 1
}

// scanMemory picks the entries of the next slice of a candidate with keys up to
// bound. slice is the candidate cut to them, rest what follows, if there is
// more.
func (x *search) scanMemory(w *reading, c candidate, bound int64) (slice, rest candidate, more bool, err error) {
	m := *c.memory
	slice, rest = c, c
	from, to := x.times(c.start, bound)
	from, to = max(from, m.from), min(to, m.to)
	after := m
	if !m.slice {
		if x.backward {
			if to-from > m.step {
				from = to - m.step
			}
			after.to = from
			more = after.to > m.from
			rest.start = x.key(after.to - 1)
		} else {
			if to-from > m.step {
				to = from + m.step
			}
			after.from = to
			more = after.from < m.to
			rest.start = x.key(after.from)
		}
	}
	w.mem, w.picks = m.mem, w.picks[:0]
	w.rows = m.mem.rows(w.rows[:0], m.stream, from, to)
	switch n := len(w.rows); {
	case n < sliceRows/2 && after.step < 1<<62:
		after.step *= 2
	case n > 2*sliceRows:
		after.step = max(1, after.step/2)
	}
	absent := x.chunks.results(m.mem)
	for i, r := range w.rows {
		if x.chunks.excludes(absent, m.mem, uint32(r.chunk)) {
			continue
		}
		if m.hasLast {
			if d := compareRows(r, m.last); d == 0 || (d < 0) != x.backward {
				continue
			}
		}
		w.picks = append(w.picks, pick{r.time, 0, int32(i)})
	}
	if err := w.match(); err != nil {
		return slice, rest, false, err
	}
	if x.backward {
		slices.Reverse(w.picks)
	}
	m.from, m.to, m.slice = from, to, true
	slice.memory, rest.memory = &m, &after
	if total := c.end - c.start; total > 0 && more {
		rest.raw = int64(float64(c.raw) * float64(c.end-rest.start) / float64(total))
	}
	return slice, rest, more && rest.start <= bound, nil
}
