package lab

import (
	"context"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// measureClock measures the cost of the timer itself. It is reported, and never
// subtracted from a figure: the cost of a reading varies, and a difference of two noisy
// numbers makes short timings look better than they are.
func measureClock() run.Clock {
	const readings, repeats = 2000, 9
	start := time.Now()
	costs := make([]time.Duration, repeats)
	smallest := time.Hour
	var last time.Duration
	for i := range costs {
		begin := time.Since(start)
		for range readings {
			now := time.Since(start)
			if d := now - last; d > 0 {
				smallest = min(smallest, d)
			}
			last = now
		}
		costs[i] = time.Since(start) - begin
	}
	slices.Sort(costs)
	loops := make([]float64, repeats)
	for i := range loops {
		b := &B{N: readings, ctx: context.Background(), batch: 1, window: time.Hour}
		for b.Loop() {
		}
		loops[i] = float64(b.wall) / readings
	}
	slices.Sort(loops)
	return run.Clock{
		PerReading: run.Nanos(costs[repeats/2] / readings),
		PerOp:      loops[repeats/2],
		Resolution: run.Nanos(smallest),
	}
}
