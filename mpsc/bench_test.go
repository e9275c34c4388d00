package mpsc

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type bytes8 uint64
type bytes64 [8]uint64

const benchCapacity = 1024

// BenchmarkQueue passes values from many goroutines to one: through a channel,
// and through a queue by Pop and by PopBatch of up to 64. An operation is one
// value; producers only push.
func BenchmarkQueue(b *testing.B) {
	for _, producers := range []int{1, 4, 16, 64} {
		for _, way := range []string{"channel", "pop", "batch"} {
			name := fmt.Sprintf("way=%s/producers=%d/capacity=%d", way, producers, benchCapacity)
			b.Run(name+"/size=8", func(b *testing.B) { bench[bytes8](b, way, producers) })
			b.Run(name+"/size=64", func(b *testing.B) { bench[bytes64](b, way, producers) })
		}
	}
}

func bench[T any](b *testing.B, way string, producers int) {
	b.ReportAllocs()
	ctx := context.Background()
	var v T
	if way == "channel" {
		c := make(chan T, benchCapacity)
		var stop atomic.Bool
		wg := start(producers, func() {
			for !stop.Load() {
				c <- v
			}
		})
		for b.Loop() {
			<-c
		}
		stop.Store(true)
		go func() { wg.Wait(); close(c) }()
		for range c {
		}
		return
	}
	q := New[T](benchCapacity)
	wg := start(producers, func() {
		for q.Push(ctx, v) == nil {
		}
	})
	if way == "pop" {
		for b.Loop() {
			q.Pop(ctx)
		}
	} else {
		dst := make([]T, 64)
		left := 0
		for b.Loop() {
			if left == 0 {
				left, _ = q.PopBatch(ctx, dst, 0)
			}
			left--
		}
	}
	q.Close()
	wg.Wait()
}

func start(n int, f func()) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	return &wg
}

// TestRate compares the queue, read by PopBatch, with a channel of the same
// capacity: it must pass values at least twice as fast with 4 and with 64
// producers. Rounds are interleaved, each yields one ratio, and the median
// counts.
func TestRate(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes 15 seconds of both processors; set STELE_LONG=1")
	}
	for _, producers := range []int{1, 4, 16, 64} {
		bar := 0.0
		if producers == 4 || producers == 64 {
			bar = 2
		}
		rate[bytes8](t, 8, producers, bar)
		rate[bytes64](t, 64, producers, bar)
	}
}

func rate[T any](t *testing.T, size, producers int, bar float64) {
	const values, rounds = 1 << 18, 101
	ways := []struct {
		name string
		pass func(producers, values int)
	}{{"channel", passChannel[T]}, {"pop", passPop[T]}, {"batch", passBatch[T]}}
	took := make([][]float64, len(ways)) // ns per value, by way and round
	for range rounds {
		for _, i := range rand.Perm(len(ways)) {
			start := time.Now()
			ways[i].pass(producers, values)
			took[i] = append(took[i], float64(time.Since(start))/values)
		}
	}
	for i, way := range ways {
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = took[0][r] / took[i][r]
		}
		// The median lies between the 41st and the 61st of 101 rounds with a
		// probability of 95 % (order statistics).
		ratio, lo, hi := median(ratios), kth(ratios, 40), kth(ratios, 60)
		t.Logf("producers=%-2d size=%-2d %-7s %5.1f ns a value, %.2fx [%.2f, %.2f] a channel's rate", producers, size, way.name, median(took[i]), ratio, lo, hi)
		if way.name == "batch" && ratio < bar {
			t.Errorf("producers=%d size=%d: PopBatch is %.2fx as fast as a channel, want %gx", producers, size, ratio, bar)
		}
	}
}

func median[E cmp.Ordered](s []E) E     { return kth(s, len(s)/2) }
func kth[E cmp.Ordered](s []E, k int) E { return slices.Sorted(slices.Values(s))[k] }

func passChannel[T any](producers, values int) {
	c := make(chan T, benchCapacity)
	wg := start(producers, func() {
		var v T
		for range values / producers {
			c <- v
		}
	})
	for range values / producers * producers {
		<-c
	}
	wg.Wait()
}

func passPop[T any](producers, values int) {
	ctx := context.Background()
	q := New[T](benchCapacity)
	wg := start(producers, func() {
		var v T
		for range values / producers {
			q.Push(ctx, v)
		}
	})
	for range values / producers * producers {
		q.Pop(ctx)
	}
	wg.Wait()
}

func passBatch[T any](producers, values int) {
	ctx := context.Background()
	q := New[T](benchCapacity)
	wg := start(producers, func() {
		var v T
		for range values / producers {
			q.Push(ctx, v)
		}
	})
	dst := make([]T, 64)
	for left := values / producers * producers; left > 0; {
		n, _ := q.PopBatch(ctx, dst, 0)
		left -= n
	}
	wg.Wait()
}
