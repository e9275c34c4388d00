package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A blockLeaf is a block of a segment.
type blockLeaf struct {
	extent
	segs    *catalog.Snapshot
	segment uint64
	number  int
	spans   []span // by labels, and within a stream in its order
	clipped bool   // spans may be parts of runs, see handOver

	// If hasAfter, only entries behind after in the order of the search are left.
	after    mark
	hasAfter bool
}

// A span is a run of a stream in a block, or a part of one.
type span struct {
	*streamLabels
	run         int // of the stream, in its segment
	first, rows int
	min, max    int64
	raw         int64
}

// pick reads the block, and its lines only if it has entries in the range.
func (l *blockLeaf) pick(r *reading, bound int64, mode pickMode) (rest leaf, err error) {
	several, err := l.pickTimes(r, bound)
	if err != nil {
		return nil, err
	}
	if l.hasAfter {
		r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return !l.isBehind(r, p) })
	}
	if mode == withLines && len(r.picks) > 0 {
		if err := r.block.Lines(); err != nil {
			return nil, l.wrapDamage(err)
		}
		if err := r.match(); err != nil {
			return nil, err
		}
		if several {
			slices.SortFunc(r.picks, comparePicks)
		}
	}
	if r.x.backward {
		slices.Reverse(r.picks)
	}
	return nil, nil
}

// pickTimes reads the block without its lines, and picks the rows with keys up to
// bound, span by span. several reports that more than one span has some.
func (l *blockLeaf) pickTimes(r *reading, bound int64) (several bool, err error) {
	r.mem, r.picks = nil, r.picks[:0]
	if r.stored, err = l.segs.ReadBlock(r.stored[:0], l.segment, l.number); err != nil {
		return false, err
	}
	if err := r.block.Open(r.stored); err != nil {
		return false, l.wrapDamage(err)
	}
	times, err := r.block.Times()
	if err != nil {
		return false, l.wrapDamage(err)
	}
	from, to := r.x.times(l.first, bound)
	spans := 0
	for i := range l.spans {
		sp := &l.spans[i]
		if sp.max < from || sp.min >= to {
			continue
		}
		if sp.first < 0 || sp.rows < 0 || sp.first > len(times)-sp.rows {
			return false, l.corrupt(fmt.Errorf("%w: it has %d rows, and the index %d from row %d", block.ErrDamaged, len(times), sp.rows, sp.first))
		}
		run := times[sp.first : sp.first+sp.rows]
		first := sort.Search(len(run), func(i int) bool { return run[i] >= from })
		end := first + sort.Search(len(run)-first, func(i int) bool { return run[first+i] >= to })
		for row := first; row < end; row++ {
			r.picks = append(r.picks, pick{run[row], int32(i), int32(sp.first + row)})
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

// isBehind reports whether a pick comes behind l.after.
func (l *blockLeaf) isBehind(r *reading, p pick) bool {
	d := comparePicks(p, pick{l.after.time, int32(l.after.span), int32(l.after.row)})
	if r.x.backward {
		return d < 0
	}
	return d > 0
}

func (l *blockLeaf) stream(_ *reading, span int32) (*streamLabels, uint32, error) {
	sp := &l.spans[span]
	return sp.streamLabels, uint32(sp.run), nil
}

// bytes divides the bytes of a run evenly among its rows, unless lines were read
// for the filter, or the span is only a part of the run.
func (l *blockLeaf) bytes(r *reading, picks []pick) (n int64, err error) {
	if r.x.filter == nil && !l.clipped {
		// Adjacent picks are adjacent rows: no filter left any out.
		return l.spans[picks[0].span].share(picks[0].row, picks[len(picks)-1].row), nil
	}
	if err := r.block.Lines(); err != nil {
		return 0, l.wrapDamage(err)
	}
	for _, p := range picks {
		n += int64(len(r.line(p)) + len(r.meta(p)))
	}
	return n, nil
}

// share returns the part of the rows from one to another in the bytes of a span.
// The parts of all rows add up to the span's.
func (s *span) share(from, to int32) int64 {
	i, end, n := int64(from)-int64(s.first), int64(to)+1-int64(s.first), int64(s.rows)
	return s.raw*end/n - s.raw*i/n
}

func (l *blockLeaf) behind(last mark, first, raw int64) leaf {
	rest := *l
	rest.after, rest.hasAfter = last, true
	rest.first, rest.size = first, raw
	return &rest
}

func (l *blockLeaf) between(first, last int64) leaf {
	part := *l
	part.first, part.last = first, last
	return &part
}

// wrapDamage returns the error of a block whose checksum matches but whose
// contents are wrong.
func (l *blockLeaf) wrapDamage(err error) error {
	if err == nil || !errors.Is(err, block.ErrDamaged) {
		return err
	}
	return l.corrupt(err)
}

func (l *blockLeaf) corrupt(err error) error {
	return &CorruptError{l.segs.Path(l.segment), 0, fmt.Sprintf("block %d: %v", l.number, err)}
}
