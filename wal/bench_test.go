package wal_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/wal"
)

// BenchmarkAppend: an operation is one record, of any appender.
func BenchmarkAppend(b *testing.B) {
	for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		for _, appenders := range []int{1, 16, 64, 1024} {
			for _, size := range []int{64, 1 << 10, 16 << 10} {
				b.Run(fmt.Sprintf("level=%v/appenders=%d/size=%d", level, appenders, size), func(b *testing.B) {
					l := open(b, b.TempDir(), wal.Options{Level: level})
					b.SetBytes(int64(size))
					b.ReportAllocs()
					b.ResetTimer()
					appendMany(b, l, appenders, size, int64(b.N))
					b.StopTimer()
					b.ReportMetric(l.Stats().RecordsPerSync(), "records/sync")
				})
			}
		}
	}
}

// appendMany appends n records from that many goroutines, each taking the next
// once its last one is acknowledged, and truncates the log meanwhile.
func appendMany(b *testing.B, l *wal.Log, appenders, size int, n int64) {
	var done atomic.Int64
	var wg sync.WaitGroup
	for range appenders {
		wg.Go(func() {
			rec := make([]byte, size)
			for {
				i := done.Add(1)
				if i > n {
					return
				}
				if _, err := l.Append(context.Background(), rec); err != nil {
					b.Error(err)
					return
				}
				if i%(128<<20/int64(size+24)) == 0 { // every other segment
					_, next := l.Bounds()
					if err := l.TruncateBefore(next); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkHandOver compares a lone append, which writes in its own goroutine,
// with one through the flusher.
func BenchmarkHandOver(b *testing.B) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		l := open(b, b.TempDir(), wal.Options{Level: level})
		rec := make([]byte, 1<<10)
		b.Run(fmt.Sprintf("level=%v/way=own", level), func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Append(b.Context(), rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("level=%v/way=flusher", level), func(b *testing.B) {
			for b.Loop() {
				if _, err := l.AppendAsync(rec).Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead: an operation is one record, read from the page cache.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 16 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			l := open(b, b.TempDir(), wal.Options{Level: durability.Kill})
			rec := make([]byte, size)
			for n := 0; n < 32<<20; n += size {
				l.AppendAsync(rec)
			}
			check(b, l.Sync())
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var r *wal.Reader
			var err error
			for b.Loop() {
				for r == nil || err == io.EOF {
					r, err = l.Reader(0)
					check(b, err)
					_, err = r.Next()
				}
				_, err = r.Next()
			}
		})
	}
}

// TestBars measures the gain of group commit:
//
//	STELE_LONG=1 go test -run TestBars -v ./wal
//
// on a new ext4. Each round has 1, 64 and 1,024 appenders in random order, and
// yields one ratio each. The median of the quieter half of the rounds counts:
// those in which the threads of the test waited least for a processor.
func TestBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes half a minute of all processors; set STELE_LONG=1")
	}
	const rounds, window = 22, 300 * time.Millisecond
	p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 2 << 30, Store: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	defer func() { check(t, p.Close()) }()
	l, err := wal.Open(p.Path, wal.Options{Spares: 2})
	check(t, err)
	defer l.Close()
	t.Logf("mechanism %s", l.Stats().Mechanism)

	appenders := [3]int{1, 64, 1024}
	type round struct {
		wait                   float64 // share of the time
		rate, p50, p99, shared [3]float64
	}
	var all []round
	for range rounds {
		var r round
		before, began := waited(t), time.Now()
		for _, i := range rand.Perm(len(appenders)) {
			for l.Stats().Prepared < 2 {
				time.Sleep(10 * time.Millisecond)
			}
			s := l.Stats()
			took := timed(t, l, appenders[i], window)
			now := l.Stats()
			slices.Sort(took)
			r.rate[i] = float64(len(took)) / window.Seconds()
			r.p50[i] = float64(took[len(took)/2]) / 1e3
			r.p99[i] = float64(took[len(took)*99/100]) / 1e3
			r.shared[i] = float64(now.Records-s.Records) / float64(now.Syncs-s.Syncs)
			_, next := l.Bounds()
			check(t, l.TruncateBefore(next))
		}
		r.wait = (waited(t) - before).Seconds() / time.Since(began).Seconds()
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b round) int { return cmp.Compare(a.wait, b.wait) })
	all = all[:rounds/2]
	middle := func(f func(r round) float64) float64 {
		var v []float64
		for _, r := range all {
			v = append(v, f(r))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	for i, n := range appenders {
		t.Logf("appenders=%-4d %8.0f records/s, p50 %6.0f µs, p99 %6.0f µs, %4.0f records a sync", n,
			middle(func(r round) float64 { return r.rate[i] }), middle(func(r round) float64 { return r.p50[i] }),
			middle(func(r round) float64 { return r.p99[i] }), middle(func(r round) float64 { return r.shared[i] }))
	}
	s := l.Stats()
	t.Logf("%d times on to the next segment, %v at most", s.Switch.Count(), s.Switch.Max())
	gain := middle(func(r round) float64 { return r.rate[2] / r.rate[0] })
	tail := middle(func(r round) float64 { return r.p99[1] / r.p50[0] })
	t.Logf("1,024 appenders have %.1fx the rate of one; p99 of 64 is %.1fx the p50 of one", gain, tail)
	if gain < 25 {
		t.Error("1,024 appenders have less than 25x the rate of one")
	}
	noise := middle(func(r round) float64 { return r.p99[0] / r.p50[0] })
	wait := middle(func(r round) float64 { return r.wait })
	switch {
	case tail <= 5:
	case noise > 3 || wait > 0.25:
		t.Skipf("others use the machine, so the p99 of 64 says nothing: one appender's is %.1fx its p50, and threads waited for a processor %.2f of the time", noise, wait)
	default:
		t.Error("p99 of 64 appenders is more than 5x the p50 of one")
	}
}

// waited returns how long the threads of this process have waited for a
// processor.
func waited(t testing.TB) (sum time.Duration) {
	delays, err := procstat.RunDelays()
	check(t, err)
	for _, d := range delays {
		sum += d
	}
	return sum
}

// timed returns how long each append took that ended in the window.
func timed(t *testing.T, l *wal.Log, appenders int, window time.Duration) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	end := time.Now().Add(window)
	for range appenders {
		wg.Go(func() {
			rec := make([]byte, 1<<10)
			var took []time.Duration
			for start := time.Now(); ; {
				if _, err := l.Append(context.Background(), rec); err != nil {
					t.Error(err)
					return
				}
				now := time.Now()
				took = append(took, now.Sub(start))
				if now.After(end) {
					break
				}
				start = now
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return all
}
