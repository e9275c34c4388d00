package match

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Goroutines that share a Matcher get its answers, whether there is memory for automata or
// not, and all memory is given back.
func TestShared(t *testing.T) {
	m, err := Compile(`[0-9]+\.[0-9]+|x{3}$`)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{0, 100 << 10, 1 << 30} {
		var held atomic.Int64
		s := m.NewShared(func(bytes int64) bool {
			if now := held.Add(bytes); bytes > 0 && now > most {
				held.Add(-bytes)
				return false
			}
			return true
		})
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 500 {
					text := fmt.Appendf(nil, "%d.%c%d xx%c", g, 'x'+i%3, i, 'v'+i%4)
					if got, want := s.Match(text), m.Match(text); got != want {
						t.Errorf("%q matches: %v; want %v", text, got, want)
					}
				}
			})
		}
		all.Wait()
		if n := held.Load(); n > most || n == 0 && most > 0 {
			t.Errorf("%d bytes of %d are held", n, most)
		}
		for range 2 {
			if s.Release(); held.Load() != 0 {
				t.Errorf("%d bytes are held after Release", held.Load())
			}
			if !s.Match([]byte("1.2")) {
				t.Error("nothing is found after Release")
			}
		}
	}
}

// A collection of garbage drops no automaton: what it was allowed is still held, and another
// would be charged too.
func TestSharedKeepsSearchers(t *testing.T) {
	m, err := Compile(`[0-9]+ ms$`)
	if err != nil {
		t.Fatal(err)
	}
	var held, asked atomic.Int64
	s := m.NewShared(func(bytes int64) bool {
		held.Add(bytes)
		asked.Add(1)
		return true
	})
	for range 20 {
		if !s.Match([]byte("17 ms")) {
			t.Fatal("17 ms does not match")
		}
		runtime.GC()
		runtime.GC()
	}
	if asked.Load() != 1 {
		t.Errorf("one goroutine has asked for memory %d times, and holds %d bytes; want once", asked.Load(), held.Load())
	}
	if s.Release(); held.Load() != 0 {
		t.Errorf("%d bytes are held after Release", held.Load())
	}
}
