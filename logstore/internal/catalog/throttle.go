package catalog

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/time/rate"
)

// stepBytes is how much is written, and paid for, at once: appends wait for no
// more than that on the same disk.
const stepBytes = 256 << 10

// A throttle bounds the rate of compaction.
type throttle struct{ limit *rate.Limiter }

// newThrottle allows perSecond bytes a second to be read, and as many to be
// written; perSecond <= 0 is no limit.
func newThrottle(perSecond int64) *throttle {
	if perSecond <= 0 {
		return &throttle{}
	}
	// A compaction reads and writes each byte once, so both share a bucket of twice
	// the rate.
	return &throttle{rate.NewLimiter(rate.Limit(2*float64(perSecond)), stepBytes)}
}

// wait waits until n more bytes may pass, or ctx is done.
func (p *throttle) wait(ctx context.Context, n int) error {
	if p.limit == nil {
		runtime.Gosched() // to appends, between two steps
		return ctx.Err()
	}
	for n > 0 {
		part := min(n, stepBytes)
		n -= part
		r := p.limit.ReserveN(time.Now(), part)
		if d := r.Delay(); d > 0 {
			t := time.NewTimer(d)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				r.Cancel()
				return ctx.Err()
			}
		}
	}
	return ctx.Err()
}
