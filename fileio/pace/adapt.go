package pace

import (
	"math"
	"math/bits"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// AdaptOptions are the settings of a Limiter that backs off. The zero value works.
type AdaptOptions struct {
	// Floor is the lowest share of the profile's limits, above 0 and at most 1. The
	// default, 0, is 1/20.
	Floor float64
	// Tolerance is the factor, above 1, by which the latency of operations may exceed
	// that of an idle volume before the Limiter assumes a queue. The default, 0, is
	// 2.
	Tolerance float64
}

// The control loop: in every period the share of the limits grows by growth or, if there
// was a queue throughout the period, is multiplied by decrease. A period has at least
// that many samples, of operations that began in it.
const (
	period     = 100 * time.Millisecond
	samples    = 4
	growth     = 0.02
	decrease   = 0.8
	baselineOf = 30 * time.Second // half of the time that a baseline is valid
)

// NewAdaptive returns a Limiter that starts with the limits of p and backs off while the
// volume is saturated, for example by another client or because its burst credits are
// spent. It uses the latency that its Writers and Readers measure, or that ObserveRead
// and ObserveWrite are given. The error reports a wrong setting, or a profile without
// any limit.
//
// The baseline is the lowest latency of reads, or of writes, of about the same size in
// the last 30 to 60 seconds. If in 0.1 s no operation takes less than Tolerance times
// the baseline, there is a queue that does not drain, and both limits, with their
// bursts, are multiplied by 4/5. Otherwise they grow by 1/50 of the profile's limits,
// which are the maximum: from half to the maximum takes 2.5 s. So a single slow
// operation changes nothing, and beside another client throughput settles near 9/10 of
// what that leaves, with a short queue (TestBacksOffBesideANeighbour). If the other
// client alone causes the queue, the limits fall to the Floor, until the baseline is
// that of the loaded volume.
//
// A Limiter of New never backs off. Use that for interactive work, which should not
// yield to other clients, and NewAdaptive for background work.
//
// Operations that a cache serves must not be observed, also not by a Writer or Reader of
// such a Limiter: compared with their latency, that of the volume looks like a queue.
func NewAdaptive(p Profile, o AdaptOptions) (*Limiter, error) {
	if o.Floor == 0 {
		o.Floor = 1. / 20
	}
	if o.Tolerance == 0 {
		o.Tolerance = 2
	}
	switch {
	case !(o.Floor > 0 && o.Floor <= 1):
		return nil, wrong("AdaptOptions.Floor", o.Floor, "a share above 0 and at most 1, or 0 for 1/20")
	case !(o.Tolerance > 1) || math.IsInf(o.Tolerance, 0):
		return nil, wrong("AdaptOptions.Tolerance", o.Tolerance, "a factor above 1, or 0 for 2")
	case p.IOPS <= 0 && p.BytesPerSecond <= 0:
		return nil, wrong("Profile", "no limit", "IOPS or BytesPerSecond above 0 for NewAdaptive")
	}
	l := New(p)
	l.adapt = &adapter{o: o, share: 1, least: math.Inf(1), began: time.Now()}
	return l, nil
}

// ObserveRead reports to an adaptive Limiter that a read of n bytes, which has just
// ended, took the given time, without the wait before it. Do not report reads that
// failed or that a cache served. Readers call ObserveRead. On a Limiter of New it does
// nothing.
func (l *Limiter) ObserveRead(n int, took time.Duration) { l.observe(reads, n, took) }

// ObserveWrite is ObserveRead for writes, which have their own baselines. Writers call
// it. A sync is a write of 0 bytes.
func (l *Limiter) ObserveWrite(n int, took time.Duration) { l.observe(writes, n, took) }

func (l *Limiter) observe(d direction, n int, took time.Duration) {
	if l.adapt != nil {
		l.adapt.observe(time.Now(), d, n, took, l.setShare)
	}
}

// Share returns the current share of the profile's limits, 1 if the Limiter does not
// back off.
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

// An adapter computes the share.
type adapter struct {
	o  AdaptOptions
	mu sync.Mutex

	share float64

	// The period: when it began, how many operations began and ended in it, and the
	// lowest of their latencies, in baselines.
	began time.Time
	n     int
	least float64

	baselines [directions][bits.UintSize + 1]baseline // by the length of the size, in bits
}

// A direction separates reads from writes, whose latencies differ on an idle volume.
type direction int

const (
	reads direction = iota
	writes
	directions
)

// A baseline is the lowest latency of an epoch, and of the one before; 0 for none.
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

// observe calls changed with the share if that has changed, with mu held, so that an
// older share is never set after a newer one.
func (a *adapter) observe(now time.Time, d direction, n int, took time.Duration, changed func(share float64)) {
	took = max(took, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	base := a.baselines[d][bits.Len(uint(max(n, 0)))].add(now, took)
	if now.Add(-took).Before(a.began) {
		return // it waited behind operations of the period before
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
