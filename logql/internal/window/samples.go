package window

import (
	"cmp"
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
)

// A sample is an entry of a function whose partial results cannot be merged.
type sample struct {
	time  int64
	value float64
	cell  int32
}

const sampleBytes = int64(unsafe.Sizeof(sample{}))

// samples keeps all entries: for quantile_over_time, which needs the values, and
// rate_counter, which needs their order.
type samples struct{ all []sample }

func (s *samples) add(cell int, time int64, value float64, _ int64, charge func(int64) error) error {
	if err := s.grow(1, charge); err != nil {
		return err
	}
	s.all = append(s.all, sample{time, value, int32(cell)})
	return nil
}

// grow makes room for n more samples.
func (s *samples) grow(n int, charge func(int64) error) error {
	if len(s.all)+n <= cap(s.all) {
		return nil
	}
	more := max(len(s.all)+n, 2*cap(s.all), 8) - cap(s.all)
	// What result takes beside is told too: see below.
	if err := tell(charge, int64(more)*2*sampleBytes); err != nil {
		return err
	}
	s.all = slices.Grow(s.all, cap(s.all)+more-len(s.all))
	return nil
}

func (s *samples) merge(other store, charge func(int64) error) error {
	o := other.(*samples)
	if len(s.all) == 0 {
		s.all = o.all
		return nil
	}
	if err := s.grow(len(o.all), charge); err != nil {
		return err
	}
	s.all = append(s.all, o.all...)
	return nil
}

func (s *samples) result(ctx context.Context, f *Function, out *matrix.Series) error {
	// A later time is in the same cell or a later one.
	err := sortFunc(ctx, s.all, func(a, b sample) int {
		if c := cmp.Compare(a.time, b.time); c != 0 {
			return c
		}
		return compare(a.value, b.value)
	})
	switch {
	case err != nil:
		return err
	case f.op == syntax.RateCounter:
		return s.counter(ctx, f, out)
	}
	return s.quantiles(ctx, f, out)
}

// checkSamples is how many samples are looked at between two looks at the context: less than
// a millisecond.
const checkSamples = 1 << 13

// sortFunc is slices.SortFunc that ends soon after ctx is done, with its error.
func sortFunc[T any](ctx context.Context, list []T, compare func(a, b T) int) error {
	n := 0
	var err error
	slices.SortFunc(list, func(a, b T) int {
		if n++; n%checkSamples == 0 && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0 // the order does not matter any more
		}
		return compare(a, b)
	})
	return err
}

// quantiles slides a window over the samples: a tree counts, for each rank, how many of
// the samples in the window have it.
func (s *samples) quantiles(ctx context.Context, f *Function, out *matrix.Series) error {
	ranks, values, err := s.rank(ctx)
	if err != nil {
		return err
	}
	tree := newRankTree(len(values))
	in, gone := 0, 0 // samples before in have come, those before gone have left
	for i := range f.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := i * f.stride
		for ; in < len(s.all) && int(s.all[in].cell) < first+f.width; in++ {
			tree.add(int(ranks[in]), 1)
		}
		for ; gone < in && int(s.all[gone].cell) < first; gone++ {
			tree.add(int(ranks[gone]), -1)
		}
		if n := in - gone; n > 0 {
			out.Set(i, quantile(f.quantile, n, func(k int) float64 { return values[tree.find(k)] }))
		}
	}
	return nil
}

// rank returns the place of each sample in the order of values, and the values so ordered;
// NaN is below all.
func (s *samples) rank(ctx context.Context) (ranks []int32, sorted []float64, err error) {
	order := make([]int32, len(s.all))
	for i := range order {
		order[i] = int32(i)
	}
	err = sortFunc(ctx, order, func(a, b int32) int { return compare(s.all[a].value, s.all[b].value) })
	ranks, sorted = make([]int32, len(order)), make([]float64, len(order))
	for rank, i := range order {
		ranks[i], sorted[rank] = int32(rank), s.all[i].value
	}
	return ranks, sorted, err
}

func compare(a, b float64) int {
	switch {
	case a < b || math.IsNaN(a) && !math.IsNaN(b):
		return -1
	case a > b || math.IsNaN(b) && !math.IsNaN(a):
		return 1
	}
	return 0
}

// quantile returns the q-quantile of n > 0 values, of which at returns the one of a rank:
// between two values it is in proportion. Below 0 and above 1 it is infinite.
func quantile(q float64, n int, at func(rank int) float64) float64 {
	switch {
	case math.IsNaN(q):
		return q
	case q < 0:
		return math.Inf(-1)
	case q > 1:
		return math.Inf(1)
	}
	rank := q * float64(n-1)
	low := math.Floor(rank)
	weight := rank - low
	upper := min(int(low)+1, n-1)
	return at(int(low))*(1-weight) + at(upper)*weight
}

// A rankTree counts samples by rank (a Fenwick tree): adding one and finding that of
// an order take as many steps as the number of ranks has bits.
type rankTree struct {
	sums []int32 // sums[i] counts the ranks of (i-lowbit(i), i], from 1 on
	top  int     // the highest power of two in len(sums)
}

func newRankTree(ranks int) *rankTree {
	t := &rankTree{sums: make([]int32, ranks+1), top: 1}
	for t.top*2 <= ranks {
		t.top *= 2
	}
	return t
}

func (t *rankTree) add(rank, by int) {
	for i := rank + 1; i < len(t.sums); i += i & -i {
		t.sums[i] += int32(by)
	}
}

// find returns the rank of the sample that has k others before it.
func (t *rankTree) find(k int) int {
	at, left := 0, int32(k)
	for bit := t.top; bit > 0; bit /= 2 {
		if at+bit < len(t.sums) && t.sums[at+bit] <= left {
			at += bit
			left -= t.sums[at]
		}
	}
	return at
}
