package logql

import (
	"math/rand/v2"
	"testing"
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
			r.join(fields[i], values)
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

// A memo remembers what was put for a class and a code in the same batch, with and without room
// for all codes.
func TestRowMemo(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var m rowMemo
	for range 100 {
		m.begin(10)
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
