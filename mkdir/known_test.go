package mkdir

import (
	"fmt"
	"sync"
	"testing"
)

func (k *known) size() (n int) {
	t := *k.table.Load()
	for i := range t {
		for j := range t[i] {
			if t[i][j].Load() != nil {
				n++
			}
		}
	}
	return n
}

func TestKnownIsBounded(t *testing.T) {
	for _, limit := range []int{1, 2, 7, 8, 100, 1000} {
		k := newKnown(limit)
		for i := range 3 * limit {
			p := fmt.Sprint("dir/", i)
			k.add([]knownDir{{path: p}})
			if !k.has(p) {
				t.Fatalf("limit %d: %s is not known right after add", limit, p)
			}
			if n := k.size(); n > limit || n != k.count {
				t.Fatalf("limit %d: holds %d, counts %d", limit, n, k.count)
			}
		}
		// A few may have met in one group.
		if n := k.size(); n < limit*9/10 {
			t.Errorf("limit %d: holds only %d", limit, n)
		}
	}
}

func TestKnownKeepsWhatFits(t *testing.T) {
	k := newKnown(defaultCacheSize)
	const n = 20_000
	for i := range n {
		k.add([]knownDir{{path: fmt.Sprint("some/directory/", i)}})
	}
	for i := range n {
		if !k.has(fmt.Sprint("some/directory/", i)) {
			t.Fatalf("%d is lost", i)
		}
	}
}

func TestKnownForget(t *testing.T) {
	k := newKnown(100)
	for _, p := range []string{"a", "a/b", "a/b/c", "a-b", "ab", "a/bc", "b/a/b"} {
		k.add([]knownDir{{path: p}, {path: p}}) // twice is once
	}
	k.forgetBelow("a")
	for p, want := range map[string]bool{
		"a": true, "a/b": false, "a/b/c": false, "a-b": true, "ab": true, "a/bc": false, "b/a/b": true,
	} {
		if k.has(p) != want {
			t.Errorf("after forgetBelow(a): has(%s) = %v", p, !want)
		}
	}
	k.forget("ab")
	if k.has("ab") || k.size() != 3 || k.count != 3 {
		t.Errorf("after forget(ab): %d left, %d counted, want 3", k.size(), k.count)
	}
	k.close()
	k.add([]knownDir{{path: "a"}})
	if k.has("a") {
		t.Error("closed, but takes entries")
	}
}

// A reader must never miss what is there and is never removed, whatever
// writers do to the rest.
func TestKnownConcurrent(t *testing.T) {
	k := newKnown(1 << 12)
	k.add([]knownDir{{path: "stays"}})
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !k.has("stays") {
					t.Error("lost")
					return
				}
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			for i := range 500 {
				p := fmt.Sprint("goes", w, "/", i)
				k.add([]knownDir{{path: p}})
				if i%2 == 0 {
					k.forget(p)
				}
			}
			k.forgetBelow(fmt.Sprint("goes", w))
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if k.size() != 1 {
		t.Errorf("%d entries left, want 1", k.size())
	}
}
