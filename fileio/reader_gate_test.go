package fileio

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Whoever is in has left before close returns, however many come and go.
func TestGate(t *testing.T) {
	for range 200 {
		g := gate{empty: make(chan struct{}, 1)}
		var in atomic.Int64
		var gone atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for g.enter() {
					in.Add(1)
					if gone.Load() {
						t.Error("in after it was closed")
					}
					if !g.enter() { // once more, from the inside
						in.Add(-1)
						g.leave()
						return
					}
					g.leave()
					in.Add(-1)
					g.leave()
				}
			})
		}
		if !g.close() {
			t.Error("closed before")
		}
		if n := in.Load(); n != 0 {
			t.Errorf("%d are in", n)
		}
		gone.Store(true)
		if g.close() {
			t.Error("closed twice")
		}
		wg.Wait()
	}
}
