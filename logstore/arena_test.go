package logstore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/durability"
)

// Reservations never overlap, whatever their sizes and order.
func TestArenaPieces(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a := arena{pool: &chunkPool{max: 2}, onAlloc: func(int64) {}}
		type piece struct {
			p          []byte
			chunk, off uint32
		}
		var all []piece
		for i := range 20 {
			n := 1 + rng.IntN(1<<(1+rng.IntN(22)))
			p, chunk, off := a.reserve(n)
			if len(p) != n || cap(p) != n {
				t.Fatalf("seed %d: %d bytes with capacity for %d, not %d", seed, len(p), cap(p), n)
			}
			copy(p, bytes.Repeat([]byte{byte(i)}, n))
			all = append(all, piece{p, chunk, off})
		}
		for i, x := range all {
			if want := bytes.Repeat([]byte{byte(i)}, len(x.p)); !bytes.Equal(x.p, want) {
				t.Fatalf("seed %d: piece %d was written over", seed, i)
			}
			if at := a.chunk(x.chunk)[x.off:]; &at[0] != &x.p[0] {
				t.Fatalf("seed %d: piece %d is not where it is said to be", seed, i)
			}
		}
	}
}

// A record longer than a chunk, the first of its memtable, is kept intact.
func TestLongRecordFirst(t *testing.T) {
	o := small()
	o.Level = durability.Kill
	s := openTest(t, t.TempDir(), o)
	want := map[kept]int{}
	for round := range 2 {
		for g, n := range []int{15, 1, 1} {
			st := Stream{Labels: MustLabels("g", fmt.Sprint(g))}
			for i, line := range lines(n, 100<<10) {
				st.Entries = append(st.Entries, Entry{Time: int64(round*100 + i), Line: line})
				want[kept{st.Labels.enc, int64(round*100 + i), string(line), ""}]++
			}
			mustAppend(t, s, Batch{st})
		}
		sameCounts(t, "in memory", counted(contents(t, s)), want)
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		sameCounts(t, "sealed", counted(contents(t, s)), want)
	}
}
