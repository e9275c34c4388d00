package logql

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/internal/window"
	"github.com/stele-go/stele/logql/syntax"
)

// Rows have equal codes exactly if all fields that were joined are equal, however many values
// there are.
func TestRowCodes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var r rowCodes
	for range 300 {
		rows := 1 + random.IntN(200)
		fields := make([][]uint32, 1+random.IntN(4))
		r.codes = nil
		for i := range fields {
			values := 1 + random.IntN(1+random.IntN(100))
			for range rows {
				fields[i] = append(fields[i], random.Uint32N(uint32(values)))
			}
			r.join(fields[i], values, true)
		}
		for range 100 {
			a, b := random.IntN(rows), random.IntN(rows)
			same := true
			for _, f := range fields {
				same = same && f[a] == f[b]
			}
			if same != (r.codes[a] == r.codes[b]) || int(r.codes[a]) >= r.size {
				t.Fatalf("rows %d and %d of %v: codes %d and %d of %d", a, b, fields, r.codes[a], r.codes[b], r.size)
			}
		}
	}
}

// The product of the numbers of values may be more than an int of 32 bits has.
func TestRowCodesOfManyValues(t *testing.T) {
	const rows = 1 << 16
	a, b := make([]uint32, rows), make([]uint32, rows)
	for i := range rows {
		a[i], b[i] = uint32(i), uint32(i/2)
	}
	var r rowCodes
	r.join(b, rows, true)
	r.join(a, rows, true)
	seen := make([]bool, rows)
	for i, code := range r.codes {
		if int(code) >= r.size || seen[code] {
			t.Fatalf("row %d: code %d of %d, which another row has or none may have", i, code, r.size)
		}
		seen[code] = true
	}
}

// Fields that tell no rows apart cost no pass over the rows.
func TestRowCodesOfOneValue(t *testing.T) {
	one, codes := make([]uint32, 4), []uint32{0, 2, 1, 2}
	var r rowCodes
	for _, f := range [][]uint32{one, codes, one} {
		r.join(f, 1+int(slices.Max(f)), true)
	}
	if &r.codes[0] != &codes[0] || r.size != 3 {
		t.Errorf("codes %v of %d; want those of the field, %v", r.codes, r.size, codes)
	}
}

// A memo remembers what was put for a class and a code in the same batch, with and without room
// for all codes.
func TestRowMemo(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var m rowMemo
	for range 100 {
		m.begin(10, true)
		type key struct {
			class int
			code  uint32
		}
		put := map[key]int32{}
		size := 1 + random.IntN(2000)
		for range 300 {
			k := key{random.IntN(12), random.Uint32N(uint32(size))}
			memo := m.of(k.class, size)
			if got := memo.get(k.code); got != put[k] {
				t.Fatalf("class %d, code %d: %d; want %d", k.class, k.code, got, put[k])
			}
			put[k] = 1 + random.Int32N(1000)
			memo.put(k.code, put[k])
		}
	}
}

// Rows that are counted in groups are in the windows of their times, also where windows are apart
// and times are before the first one or go back.
func TestGroupCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	const step = 2 * time.Minute
	free := func(int64) error { return nil }
	for _, interval := range []time.Duration{90 * time.Second, step, 5 * time.Minute, time.Hour} {
		f, err := window.New(&syntax.RangeAggregation{Op: syntax.CountOverTime, Interval: interval}, matrix.Steps{Start: base, End: base + 10*int64(step), Step: step})
		if err != nil {
			t.Fatal(err)
		}
		counts := groupCounts{function: f, numbers: map[*group]int32{}}
		groups := make([]*group, 5)
		want := make([]*window.Accumulator, len(groups))
		for i := range groups {
			groups[i], want[i] = &group{accumulator: f.NewAccumulator()}, f.NewAccumulator()
		}
		for range 20 { // batches
			at := base - int64(step) + random.Int64N(10*int64(step))
			for range 100 {
				at += random.Int64N(30e9) - 2e9
				i := random.IntN(len(groups))
				n := counts.number(groups[i])
				if at < counts.from || at >= counts.to {
					if err := counts.move(at, free); err != nil {
						t.Fatal(err)
					}
				}
				counts.add(n)
				if at >= f.From() && at < f.To() {
					if err := want[i].Add(at, 0, free); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := counts.flush(free); err != nil {
				t.Fatal(err)
			}
		}
		for i, g := range groups {
			got, err := g.accumulator.Result(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			expected, err := want[i].Result(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("range %v, group %d: %v; want %v", interval, i, got, expected)
			}
		}
	}
}
