package mkdir

import (
	"fmt"
	"math"
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
			k.add([]knownDir{{path: p}}, 0)
			if !k.has(p) {
				t.Fatalf("limit %d: %s is not known right after add", limit, p)
			}
			if n := k.size(); n > limit || n != k.count {
				t.Fatalf("limit %d: holds %d, counts %d", limit, n, k.count)
			}
		}
		// A few may share a group.
		if n := k.size(); n < limit*9/10 {
			t.Errorf("limit %d: holds only %d", limit, n)
		}
	}
}

func TestKnownKeepsWhatFits(t *testing.T) {
	k := newKnown(defaultCacheSize)
	const n = 20_000
	for i := range n {
		k.add([]knownDir{{path: fmt.Sprint("some/directory/", i)}}, 0)
	}
	lost := 0
	for i := range n {
		if !k.has(fmt.Sprint("some/directory/", i)) {
			lost++
		}
	}
	// Nine share one of the 32,768 groups in one run of a thousand or two: the
	// hash has another seed each time.
	if lost > 4 {
		t.Errorf("%d of %d are lost", lost, n)
	}
}

func TestKnownClear(t *testing.T) {
	k := newKnown(100)
	for _, p := range []string{"a", "a/b"} {
		k.add([]knownDir{{path: p}, {path: p}}, 0) // twice is once
	}
	if k.size() != 2 || k.count != 2 {
		t.Errorf("%d entries, %d counted, want 2", k.size(), k.count)
	}
	epoch := k.clear()
	if k.has("a") || k.has("a/b") || k.count != 0 {
		t.Error("cleared, but knows something")
	}
	if k.add([]knownDir{{path: "a"}}, epoch-1) || k.has("a") {
		t.Error("takes what was found out before it was cleared")
	}
	if !k.add([]knownDir{{path: "a"}}, epoch) || !k.has("a") {
		t.Error("does not take what was found out since")
	}
	k.close()
	k.add([]knownDir{{path: "b"}}, epoch)
	if k.has("b") {
		t.Error("closed, but takes entries")
	}
}

// A limit above the size of the largest table is no limit.
func TestKnownHugeLimit(t *testing.T) {
	k := newKnown(math.MaxInt)
	for i := range 200 {
		k.add([]knownDir{{path: fmt.Sprint(i)}}, 0)
	}
	if k.size() != 200 {
		t.Errorf("%d of 200 entries are known", k.size())
	}
}

// A reader always finds an entry that is never removed, whatever writers do to the
// others.
func TestKnownConcurrent(t *testing.T) {
	// So many groups that no nine of the paths share one, whatever the seed of the
	// hash: one of the nine would be evicted.
	k := newKnown(1 << 16)
	k.add([]knownDir{{path: "stays"}}, 0)
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
				k.add([]knownDir{{path: p}}, 0)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if n := k.size(); n != 2001 {
		t.Errorf("%d entries, want 2001", n)
	}
}
