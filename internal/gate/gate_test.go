package gate

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Close returns after every goroutine inside has left, however many enter and leave.
func TestGate(t *testing.T) {
	for range 200 {
		var g Gate
		if g.Enter() {
			t.Fatal("let in before it was opened")
		}
		g.Open()
		var in atomic.Int64
		var gone atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for g.Enter() {
					in.Add(1)
					if gone.Load() {
						t.Error("in after it was closed")
					}
					if !g.Enter() { // once more, from the inside
						in.Add(-1)
						g.Leave()
						return
					}
					g.Leave()
					in.Add(-1)
					g.Leave()
				}
			})
		}
		if !g.Close() {
			t.Error("closed before")
		}
		if n := in.Load(); n != 0 {
			t.Errorf("%d are in", n)
		}
		gone.Store(true)
		if g.Close() {
			t.Error("closed twice")
		}
		wg.Wait()
	}
}
