package lab

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

func emptyBlock(n, batch int64) *B {
	return &B{N: n, ctx: context.Background(), batch: batch, window: time.Hour}
}

// BenchmarkLoop is the lab's own cost an operation: chained clock readings
// (batch=1), and operations timed several at a time.
func BenchmarkLoop(b *testing.B) {
	for _, batch := range []int64{1, 100} {
		b.Run("batch="+map[int64]string{1: "1", 100: "100"}[batch], func(b *testing.B) {
			blk := emptyBlock(int64(b.N), batch)
			b.ReportAllocs()
			b.ResetTimer()
			for blk.Loop() {
			}
		})
	}
}

func TestLoopCountsEveryOperation(t *testing.T) {
	for _, c := range []struct{ n, batch, samples int64 }{
		{1, 1, 1}, {7, 1, 7}, {7, 3, 3}, {100, 100, 1}, {100, 1000, 1}, {0, 1, 0},
	} {
		b := emptyBlock(c.n, c.batch)
		var ran int64
		for b.Loop() {
			if b.I() != ran {
				t.Fatalf("n=%d batch=%d: operation %d is numbered %d", c.n, c.batch, ran, b.I())
			}
			ran++
		}
		var block run.Block
		b.meter = newMeter(t.TempDir())
		b.fill(&block)
		if ran != c.n || block.Ops != c.n {
			t.Errorf("n=%d batch=%d: ran %d, booked %d", c.n, c.batch, ran, block.Ops)
		}
		if got := block.Latency.Count() + block.Latency.OutOfRange(); got != c.samples {
			t.Errorf("n=%d batch=%d: %d latency samples, want %d", c.n, c.batch, got, c.samples)
		}
	}
}

// An operation that sleeps shows up in the latency, the wall time and the
// windows, and all three tell the same story.
func TestLoopTimesTheOperation(t *testing.T) {
	oneOfSome(t, func() error { // between two operations the process may have to wait for a processor
		b := emptyBlock(20, 1)
		b.window = 10 * time.Millisecond
		for b.Loop() {
			time.Sleep(2 * time.Millisecond)
		}
		var block run.Block
		b.meter = newMeter(t.TempDir())
		b.fill(&block)
		if low := block.Latency.Quantile(0); low < 1.98e6 {
			t.Errorf("the fastest operation is said to take %v ns, and slept 2 ms", low)
		}
		var sum, ops float64
		for _, w := range block.Windows {
			sum += w.Mean * float64(w.Ops)
			ops += float64(w.Ops)
		}
		if ops != 20 {
			t.Errorf("the windows hold %v operations, want 20", ops)
		}
		if len(block.Windows) < 3 {
			t.Errorf("%d windows of 10 ms over 40 ms", len(block.Windows))
		}
		if wall := float64(block.Wall); sum < 0.95*wall || sum > wall {
			return fmt.Errorf("the windows hold %v ns, the block took %v ns", sum, wall)
		}
		return nil
	})
}

func TestParallelSharesTheOperations(t *testing.T) {
	b := emptyBlock(10, 1)
	counts := make([]int64, 3)
	err := b.Parallel(3, func(w *Worker) error {
		for w.Loop() {
			counts[w.ID]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if counts[0] != 4 || counts[1] != 3 || counts[2] != 3 {
		t.Errorf("10 operations were shared as %v", counts)
	}
}

func TestCancelEndsTheLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := emptyBlock(1<<40, 1)
	b.ctx = ctx
	n := 0
	for b.Loop() {
		if n++; n == 5 {
			cancel()
		}
		if n > 5 {
			t.Fatal("an operation was admitted after the context was done")
		}
	}
}

func TestSecondLoopPanics(t *testing.T) {
	b := emptyBlock(1, 1)
	for b.Loop() {
	}
	defer func() {
		if recover() == nil {
			t.Error("Parallel after Loop did not panic")
		}
	}()
	b.Parallel(1, func(w *Worker) error { return nil })
}

// A paced operation is neither late nor early, and the waiting is in no
// figure.
func TestPaceWaitsBetweenOperations(t *testing.T) {
	interval := 5 * time.Millisecond
	oneOfSome(t, func() error { // on a busy machine an operation of 1 ms takes longer than the interval
		interval *= 2
		b := emptyBlock(8, 100)
		b.Pace(interval)
		var between time.Duration // two operations
		begin := time.Now()
		var ended time.Time
		for b.Loop() {
			if !ended.IsZero() {
				between += time.Since(ended)
			}
			time.Sleep(time.Millisecond)
			ended = time.Now()
		}
		took := time.Since(begin)
		if took < 7*interval {
			t.Errorf("8 operations, one every %v, took %v in all", interval, took)
		}
		if b.wall < 8*time.Millisecond {
			t.Errorf("wall time %v of 8 operations of 1 ms", b.wall)
		}
		var block run.Block
		b.meter = newMeter(t.TempDir())
		b.fill(&block)
		if n := block.Latency.Count(); n != 8 || b.batch != 1 {
			t.Errorf("%d latencies, timed %d at a time; want 8, one by one", n, b.batch)
		}
		if between < interval {
			return fmt.Errorf("hardly an operation waited for its turn: %v in all", between)
		}
		if b.wall > took-between*3/4 {
			return fmt.Errorf("wall time %v of %v: want it without the %v of waiting", b.wall, took, between)
		}
		return nil
	})
}

// A cancelled run does not wait for the next operation.
func TestPaceEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := emptyBlock(2, 1)
	b.ctx = ctx
	b.Pace(time.Hour)
	begin := time.Now()
	for b.Loop() {
		cancel()
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v to end", took)
	}
}

// A variant that knows better how long its operations took is believed.
func TestSetLatency(t *testing.T) {
	e := Experiment{Suite: "t", Name: "t"}
	v := Variant{Name: "v", Run: func(b *B) error {
		h := run.NewHistogram()
		for b.Loop() {
			h.Record(5_000_000)
		}
		b.SetLatency(h)
		return nil
	}}
	begin := time.Now()
	b, err := RunOnce(t.Context(), &e, &v, t.TempDir(), 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	passed := run.Nanos(time.Since(begin))
	if q := b.Latency.Quantile(.5); b.Latency.Count() != 40 || q < 4.9e6 || q > 5.1e6 || b.Batch != 1 {
		t.Errorf("%d latencies, the median %v ns, in batches of %d", b.Latency.Count(), q, b.Batch)
	}
	if b.Wall > passed { // 40 times 5 ms would be more
		t.Errorf("the wall time is %v, and %v passed", b.Wall, passed)
	}
}

// Operations in flight count as operations at a time, as goroutines do.
func TestInFlight(t *testing.T) {
	e := Experiment{Suite: "t", Name: "t"}
	for want, f := range map[int]func(b *B) error{
		0: func(b *B) error {
			for b.Loop() {
			}
			return nil
		},
		4: func(b *B) error {
			b.InFlight(4)
			for b.Loop() {
			}
			return nil
		},
		6: func(b *B) error {
			b.InFlight(3)
			return b.Parallel(2, func(w *Worker) error {
				for w.Loop() {
				}
				return nil
			})
		},
	} {
		v := Variant{Name: "v", Run: f}
		if b, err := RunOnce(t.Context(), &e, &v, t.TempDir(), 40, 1); err != nil || b.Parallel != want {
			t.Errorf("%d operations at a time, %v; want %d", b.Parallel, err, want)
		}
	}
}
