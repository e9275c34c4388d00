package segment2

import (
	"fmt"
	"math"
	"testing"
)

// A countedEncoder counts its calls.
type countedEncoder struct {
	BlockEncoder
	encoded, released int
}

func (e *countedEncoder) Encode(b *EncodedBlock) error { e.encoded++; return e.BlockEncoder.Encode(b) }

func (e *countedEncoder) Release() { e.released++; e.BlockEncoder.Release() }

// A merge gives up the memory that encoding takes before it copies many blocks, and at the end,
// but not between blocks of which every other one is encoded.
func TestMergeReleases(t *testing.T) {
	const streams = 4 * copiedInARow
	host := func(i int) string { return fmt.Sprintf("h-%03d", i) }
	var rows []row
	for i := range streams {
		for n := range 20 {
			rows = append(rows, row{streamKey: streamKey{"", labelsOf("host", host(i))}, time: int64(n), line: fmt.Sprint("line ", n), id: ID{1, uint32(n)}})
		}
	}
	k := pack(t, rows, Info{Upto: 1}, 1, 100) // each stream is a block
	source := mergeable2(t, k.p, k.rows)
	for _, c := range []struct{ each, encoded, released int }{
		{2, streams / 2, 1},
		{copiedInARow, 4, 1},
		{copiedInARow + 1, 4, 4},
		{streams, 1, 1},
	} {
		lose := map[string]bool{}
		for i := 0; i < streams; i += c.each {
			lose[host(i)] = true
		}
		drop := Drop{From: math.MinInt64, To: 10, Before: AnyPosition, Conditions: []Condition{{Name: "host", Match: func(v string) bool { return lose[v] }}}}
		removal, err := PlanRemoval(t.Context(), source, []Drop{drop}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []BlockEncoder{NewLinesEncoder(), newColumnsEncoder()} {
			e := countedEncoder{BlockEncoder: of}
			if _, _, err := tryMerge(t.Context(), []mergeable{source}, MergeOptions{BlockRaw: 1, Encoder: &e, Removals: []*Removal{removal}}); err != nil {
				t.Fatal(err)
			}
			if e.encoded != c.encoded || e.released != c.released {
				t.Errorf("codec %d, each %d. block: %d encoded, memory given up %d times; want %d and %d", of.Codec(), c.each, e.encoded, e.released, c.encoded, c.released)
			}
		}
	}
}
