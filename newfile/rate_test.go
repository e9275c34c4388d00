package newfile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

// TestQueueRate holds the queue against direct calls of Create from as many
// goroutines, on a file system that costs nothing: it must answer at least 0.7
// times as fast. Rounds are interleaved and each gives one ratio; the median
// rules.
func TestQueueRate(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes 15 seconds of all processors; set STELE_LONG=1")
	}
	const files, rounds = 4000, 41
	dir := mountTmpfs(t, "size=64m")
	for _, n := range []int{1, 16, 1000} {
		var ratios []float64
		for range rounds {
			var took [2]time.Duration
			for _, way := range rand.Perm(2) {
				sub, err := os.MkdirTemp(dir, "")
				must(t, err)
				d, err := newfile.OpenDir(sub, newfile.Options{Level: durability.Kill, Shards: 16})
				must(t, err)
				q, err := newfile.NewQueue(d, newfile.QueueOptions{})
				must(t, err)
				create := func(name string) (*os.File, error) { return d.Create(name, 0o666) }
				if way == 1 {
					create = func(name string) (*os.File, error) { return q.Create(t.Context(), name) }
				}
				start := time.Now()
				createAll(t, n, files, create)
				took[way] = time.Since(start)
				must(t, q.Close())
				must(t, d.Close())
				must(t, os.RemoveAll(sub))
			}
			ratios = append(ratios, float64(took[0])/float64(took[1]))
		}
		slices.Sort(ratios)
		// Of 41 rounds the 14th and the 28th hold the median between them with
		// 95 % probability (order statistics).
		median, lo, hi := ratios[rounds/2], ratios[13], ratios[27]
		t.Logf("goroutines=%d: %.2fx [%.2f, %.2f] the rate of direct calls", n, median, lo, hi)
		if median < 0.7 {
			t.Errorf("goroutines=%d: the queue is %.2fx as fast as direct calls, want 0.7x", n, median)
		}
	}
}

func createAll(t *testing.T, goroutines, files int, create func(name string) (*os.File, error)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(files); i = next.Add(1) {
				if err := closed(create(fmt.Sprint(i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
