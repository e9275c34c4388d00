package arena

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Reservations never overlap, whatever their sizes and order.
func TestArenaPieces(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var a Arena
		a.Init(NewPool(2), func(int64) {})
		type piece struct {
			p          []byte
			chunk, off uint32
		}
		var all []piece
		for i := range 20 {
			n := 1 + rng.IntN(1<<(1+rng.IntN(22)))
			p, chunk, off := a.Reserve(n)
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
			if at := a.Chunk(x.chunk)[x.off:]; &at[0] != &x.p[0] {
				t.Fatalf("seed %d: piece %d is not where it is said to be", seed, i)
			}
		}
	}
}
