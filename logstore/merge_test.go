package logstore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// The merge of random results is their sorted union, also where times, streams
// and ranks are equal.
func TestMerge(t *testing.T) {
	type row struct {
		time            int64
		stream          string
		rank            uint64
		pos, row, value uint32
	}
	compare := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.stream, b.stream), cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.pos, b.pos), cmp.Compare(a.row, b.row))
	}
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 1))
	longest := 0
	for round := range 300 {
		backward := round%2 == 0
		m := newMerger(backward)
		var want []row
		value := uint32(0)
		for rank := range uint64(1 + rnd.IntN(12)) {
			f := &results{rank: rank / 2} // two leaves share a rank
			var rows []row
			var names []string
			for i := range 1 + rnd.IntN(4) {
				// Equal labels need not have one address.
				enc := MustLabels("name", fmt.Sprint("s", i)).enc
				f.streams = append(f.streams, resultStream{off: uint32(len(f.data)), size: uint32(len(enc))})
				f.data = append(f.data, enc...)
				names = append(names, enc)
			}
			for range 1 + rnd.IntN(20) {
				s := rnd.IntN(len(f.streams))
				rows = append(rows, row{rnd.Int64N(4), names[s], f.rank, uint32(rank), value, value})
				value++
			}
			slices.SortFunc(rows, compare)
			if backward {
				slices.Reverse(rows)
			}
			for _, r := range rows {
				s := slices.Index(names, r.stream)
				f.rows = append(f.rows, resultRow{time: r.time, stream: uint32(s), pos: r.pos, row: r.row, off: r.value})
			}
			want = append(want, rows...)
			m.push(f)
		}
		slices.SortFunc(want, compare)
		if backward {
			slices.Reverse(want)
		}
		empties := 0
		for i := 0; i < len(want); {
			bound := m.next() + 1 + rnd.Int64N(3)
			f, n := m.run(bound, 1+rnd.IntN(9))
			for j := range n {
				w := want[i]
				key := w.time
				if backward {
					key = ^key
				}
				if got := f.rows[f.next+j]; got.off != w.value || key >= bound || j == 0 && m.next() != key {
					t.Fatalf("round %d, row %d has key %d and value %d; want %v", round, i, m.next(), got.off, w)
				}
				i++
			}
			if m.advance(n) != nil {
				empties++
			}
			longest = max(longest, n)
		}
		if m.next() != maxKey || empties == 0 {
			t.Fatalf("round %d: rows are left, or none of the results was returned as empty", round)
		}
	}
	if longest < 2 {
		t.Error("no run has two rows")
	}
}
