package serve

import (
	"fmt"
	"os"
	"testing"
)

// TestGrid shows what pushes cost, by lines of a push and connections: in a closed loop, and at
// half of that rate, where the latency counts from when a push was due. It fails for no figure.
//
//	STELE_LONG=1 go test ./suites/serve -run TestGrid -v -timeout 60m
func TestGrid(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes minutes of all processors; set STELE_LONG=1")
	}
	b := openBars(t)
	for batch, lines := range map[int]int{1: min(*barsSmall, 200_000), 100: min(*barsLines, 1_000_000), 1000: min(*barsLines, 2_000_000)} {
		r := b.requests(t, batch, lines)
		for _, conns := range []int{1, 4, 16, 64, 256} {
			t.Run(fmt.Sprintf("batch=%d/conns=%d", batch, conns), func(t *testing.T) { b.grid(t, r, conns) })
		}
	}
}

// grid pushes a half of the requests as fast as they are answered, and the others at half of
// that rate.
func (b *bars) grid(t *testing.T, r *Requests, conns int) {
	r.Rewind()
	p := b.start(t, fmt.Sprintf("grid-%d-%d", r.Batch(), conns))
	defer stop(t, p)
	load := Load{Addr: p.Addr, Conns: conns, Count: r.Count() / 2}
	for _, how := range []string{"closed loop", "half of that rate"} {
		before := usageOf(t, p)
		f, err := load.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		show(t, how, f, r.Batch(), usageOf(t, p).CPU-before.CPU)
		load.Rate, load.Count = f.PerSecond()/2, r.Count()/4
	}
}
