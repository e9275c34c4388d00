package pace

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// AdaptOptions are the settings of a limiter that backs off. The zero value
// works.
type AdaptOptions struct {
	// Floor is the share of the profile's limits that is never gone below, above
	// 0 and at most 1. The default, 0, is a twentieth.
	Floor float64
	// Tolerance is how many times as long as on an idle volume operations may
	// take before that counts as a queue, above 1. The default, 0, is 2.
	Tolerance float64
}

// The control: every period the share of the limits grows by growth or, where
// there was a queue in all of it, shrinks to the part decrease. A period has at
// least so many operations, all of which began in it.
const (
	period     = 100 * time.Millisecond
	samples    = 4
	growth     = 0.02
	decrease   = 0.8
	baselineOf = 30 * time.Second // half of the time that a baseline is good for
)

// NewAdaptive returns a limiter that begins with the limits of p and backs off
// while the volume is saturated, as by a neighbour or because its burst credits
// are spent. It goes by the latency that its Writers and Readers measure, or
// that ObserveRead and ObserveWrite are told.
//
// The least latency of reads, or of writes, of about the same size, in the last 30
// to 60 seconds, is the baseline. If in a tenth of a second not one operation comes
// below Tolerance times that, there is a queue that does not drain, and both
// limits, with their bursts, are lowered to 4/5. Else they grow by 1/50 of
// the profile's, which are the most: from the half to the whole takes 2.5 s. So a
// single slow operation changes nothing, and beside a neighbour throughput
// settles near 9/10 of what is left, with a short queue (TestBacksOffBesideANeighbour).
// Where the queue is the neighbour's alone the limits go down to the Floor, until
// the baseline is that of the volume as it is now.
//
// A limiter of New never backs off: work that somebody waits for should not
// yield to a neighbour. Background work should.
//
// Operations that a cache serves must not be observed, neither by a Writer or a
// Reader of such a limiter: next to their latency that of the volume is a queue.
func NewAdaptive(p Profile, o AdaptOptions) (*Limiter, error) {
	if o.Floor == 0 {
		o.Floor = 1. / 20
	}
	if o.Tolerance == 0 {
		o.Tolerance = 2
	}
	switch {
	case !(o.Floor > 0 && o.Floor <= 1):
		return nil, fmt.Errorf("pace: AdaptOptions.Floor: %v; want a share above 0 and at most 1, or 0 for 1/20", o.Floor)
	case !(o.Tolerance > 1) || math.IsInf(o.Tolerance, 0):
		return nil, fmt.Errorf("pace: AdaptOptions.Tolerance: %v; want a factor above 1, or 0 for 2", o.Tolerance)
	case p.IOPS <= 0 && p.BytesPerSecond <= 0:
		return nil, fmt.Errorf("pace: NewAdaptive: the profile has no limit; want IOPS or BytesPerSecond, to begin with and to come back to")
	}
	l := New(p)
	l.adapt = &adapter{o: o, share: 1, least: math.Inf(1), began: time.Now()}
	return l, nil
}

// ObserveRead tells an adaptive limiter that a read of n bytes, which has just
// ended, took so long: the operation alone, without the wait before it. One that
// failed says nothing, and one that a cache served must not be observed. Readers
// call it. For a limiter of New it does nothing.
func (l *Limiter) ObserveRead(n int, took time.Duration) { l.observe(reads, n, took) }

// ObserveWrite is ObserveRead of a write, which has a baseline of its own.
// Writers call it. A sync is a write of no bytes.
func (l *Limiter) ObserveWrite(n int, took time.Duration) { l.observe(writes, n, took) }

func (l *Limiter) observe(d direction, n int, took time.Duration) {
	if l.adapt != nil {
		l.adapt.observe(time.Now(), d, n, took, l.setShare)
	}
}

// Share returns which part of the profile's limits is let through now: 1 where
// the limiter does not back off.
func (l *Limiter) Share() float64 {
	if l.adapt == nil {
		return 1
	}
	l.adapt.mu.Lock()
	defer l.adapt.mu.Unlock()
	return l.adapt.share
}

func (l *Limiter) setShare(share float64) {
	set := func(lim *rate.Limiter, perSecond float64, burst int) {
		if lim != nil {
			lim.SetLimit(rate.Limit(perSecond * share))
			lim.SetBurst(max(1, int(float64(burst)*share)))
		}
	}
	set(l.ops, float64(l.profile.IOPS), burstOf(float64(l.profile.IOPS), l.profile.BurstOps))
	set(l.bytes, float64(l.profile.BytesPerSecond), burstOf(float64(l.profile.BytesPerSecond), l.profile.BurstBytes))
}

// An adapter decides on the share.
type adapter struct {
	o  AdaptOptions
	mu sync.Mutex

	share float64

	// Of the period: when it began, how many operations have ended that began in
	// it, and the least of their latencies, in baselines.
	began time.Time
	n     int
	least float64

	baselines [directions][bits.UintSize + 1]baseline // by the length of the size, in bits
}

// A direction is that of the bytes. Reads and writes take a different time on an
// idle volume.
type direction int

const (
	reads direction = iota
	writes
	directions
)

// A baseline is the least latency of an epoch, and of the one before. 0: none.
type baseline struct {
	since    time.Time
	now, was time.Duration
}

func (b *baseline) add(now time.Time, took time.Duration) time.Duration {
	if age := now.Sub(b.since); age >= baselineOf {
		b.was, b.now, b.since = b.now, 0, now
		if age >= 2*baselineOf {
			b.was = 0
		}
	}
	if b.now == 0 || took < b.now {
		b.now = took
	}
	if b.was == 0 {
		return b.now
	}
	return min(b.now, b.was)
}

// observe calls changed with the share where that is another now. It holds mu
// meanwhile, so that an older share is never set after a newer one.
func (a *adapter) observe(now time.Time, d direction, n int, took time.Duration, changed func(share float64)) {
	took = max(took, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	base := a.baselines[d][bits.Len(uint(max(n, 0)))].add(now, took)
	if now.Add(-took).Before(a.began) {
		return // it has waited behind what was let through before
	}
	a.n++
	a.least = min(a.least, float64(took)/float64(base))
	if a.n < samples || now.Sub(a.began) < period {
		return
	}
	was := a.share
	if a.least > a.o.Tolerance {
		a.share = max(a.o.Floor, a.share*decrease)
	} else {
		a.share = min(1, a.share+growth)
	}
	a.began, a.n, a.least = now, 0, math.Inf(1)
	if a.share != was {
		changed(a.share)
	}
}
