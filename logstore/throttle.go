package logstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A throttle bounds the memory of what is not yet sealed, and slows appends down
// before they would have to stop for it.
//
// While a memtable is being sealed, another one fills. If appends go on as fast
// as they can, the second is full before the first is gone, and then all of them
// stop until it is, for some tenths of a second. So each append waits a little:
// with room for a more bytes, r bytes yet to be sealed, and v bytes sealed in a
// second, there is room again in r/v seconds, and appends that come at a*v/r
// bytes a second just do not fill the memory until then. Nothing waits that
// comes slower than that.
type throttle struct {
	limit       int64
	usable      int64 // limit less what one more chunk and longer rows may take
	closed      <-chan struct{}
	requestSeal func() // tells that something must be sealed

	used         atomic.Int64 // bytes of all memtables that are not sealed
	reserved     atomic.Int64 // by appends that are about to take them
	waiting      atomic.Int64 // appends
	blocked      atomic.Int64 // those of them that wait for room
	delayed      atomic.Int64 // in ns, in all
	blockedTotal atomic.Int64 // appends that found no room

	sealLeft atomic.Int64 // bytes yet to be sealed, of the one that is being sealed
	sealRate atomic.Int64 // bytes sealed in a second

	mu    sync.Mutex
	queue []*throttleWaiter // of appends that found no room, in their order
	freed chan struct{}     // closed and made anew when there is more room
	// Of the memtable that is being sealed: when that began, its bytes, and the
	// rate until then.
	sealStart time.Time
	sealBytes int64
	lastRate  float64
	paidUntil time.Time // the moment to which appends have used up their share
}

const (
	// initialRate is taken for the rate of sealing until there is one, in bytes a
	// second.
	initialRate = 64 << 20
	// maxBurst is how far appends may run ahead of their share, so that those that
	// come in bursts and are slow on the whole do not wait.
	maxBurst = 20 * time.Millisecond
	// rateWindow is for how long the rate before counts.
	rateWindow = 200 * time.Millisecond
	// syncShare of a memtable counts as not yet sealed until all of it is: its
	// segment must be made durable after the last block was written.
	syncShare = 16
)

func newThrottle(limit int64, closed <-chan struct{}, wanted func()) *throttle {
	p := &throttle{limit: limit, usable: limit - chunkSize - limit/32, closed: closed, requestSeal: wanted, freed: make(chan struct{})}
	p.sealRate.Store(initialRate)
	return p
}

// hasHeadroom tells that memory is not short: what is to be sealed has about all of it
// that is taken, and the next memtable has hardly begun to fill.
func (p *throttle) hasHeadroom() bool { return p.used.Load() < p.limit/8*5 }

// addUsed counts memory of memtables, give back what is negative.
func (p *throttle) addUsed(n int64) { p.used.Add(n) }

// free counts memory of a memtable that has been sealed.
func (p *throttle) free(n int64) {
	p.used.Add(-n)
	p.wakeAll()
}

// wakeAll has all that wait look again.
func (p *throttle) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant()
	close(p.freed)
	p.freed = make(chan struct{})
	p.paidUntil = time.Time{}
}

// A reservation is the memory that an append is about to take, at most: for its record,
// and later for its rows. It is given up when that has been taken, and counted,
// or not.
type reservation struct{ arena, rows int64 }

// reservationFor is the claim of a record of so many bytes. A chunk may stay empty in
// part because the record does not fit; the record may have to be copied to the
// next memtable (insert); and rows may need twice their memory.
func reservationFor(size, rows, streams int) reservation {
	return reservation{2 * int64(size), int64(size) + 2*int64(rows)*memRowSize + int64(streams)*memStreamBytes}
}

// expected is about what is taken in the end.
func (c reservation) expected() int64 { return (c.arena + c.rows) / 3 }

// reserve waits until the memory may be taken that c claims. An append that finds
// the memory all but empty always may. Those that find no room get it in the
// order in which they came, so that one which wants much is not overtaken for
// ever. refuse says why waiting is of no use, or returns nil.
func (p *throttle) reserve(ctx context.Context, c reservation, refuse func() error) error {
	if d, room := p.delayFor(c.expected()); d > 0 {
		if err := p.wait(ctx, d, nil, room, refuse); err != nil {
			return err
		}
	}
	n := c.arena + c.rows
	if p.blocked.Load() == 0 && p.tryReserve(n) {
		return nil
	}
	p.blockedTotal.Add(1)
	t := &throttleWaiter{n, make(chan struct{})}
	p.mu.Lock()
	p.queue = append(p.queue, t)
	p.grant()
	p.mu.Unlock()
	for {
		p.mu.Lock()
		room := p.freed
		p.mu.Unlock()
		select {
		case <-t.granted:
			return nil
		default:
		}
		p.requestSeal()
		if err := p.wait(ctx, 0, t.granted, room, refuse); err != nil {
			p.abandon(t)
			return err
		}
	}
}

// A throttleWaiter is an append that waits for room.
type throttleWaiter struct {
	n       int64
	granted chan struct{} // closed when it has its claim
}

// tryReserve makes a claim if there is room for it. After one that fails the caller
// sees to it that grant is called: it may have been in the way of another.
func (p *throttle) tryReserve(n int64) bool {
	if all := p.reserved.Add(n); p.used.Load()+all <= p.usable || all == n && p.used.Load() <= p.limit/4 {
		return true
	}
	p.reserved.Add(-n)
	return false
}

// grant gives their claims to those whose turn it is. mu is held.
func (p *throttle) grant() {
	// Told before it is looked: what gets less after the look finds it.
	p.blocked.Store(int64(len(p.queue)))
	for len(p.queue) > 0 && p.tryReserve(p.queue[0].n) {
		close(p.queue[0].granted)
		p.queue = slices.Delete(p.queue, 0, 1)
		p.blocked.Store(int64(len(p.queue)))
	}
}

// abandon gives up a turn, or the claim that it has come to.
func (p *throttle) abandon(t *throttleWaiter) {
	p.mu.Lock()
	i := slices.Index(p.queue, t)
	if i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		p.grant()
	}
	p.mu.Unlock()
	if i < 0 {
		p.unreserve(t.n)
	}
}

// unreserve gives up a claim: what it was for has been taken, and counted, or
// never will be.
func (p *throttle) unreserve(n int64) {
	p.reserved.Add(-n)
	if p.blocked.Load() == 0 {
		return
	}
	p.mu.Lock()
	p.grant()
	p.mu.Unlock()
	if p.blocked.Load() > 0 {
		p.requestSeal() // there may have been nothing to seal before
	}
}

// wait waits for d, if that is not 0, or until come or room is closed.
func (p *throttle) wait(ctx context.Context, d time.Duration, come, room <-chan struct{}, refuse func() error) error {
	if err := refuse(); err != nil {
		return err
	}
	begun := time.Now()
	p.waiting.Add(1)
	defer func() {
		p.waiting.Add(-1)
		p.delayed.Add(int64(time.Since(begun)))
	}()
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-come:
		return nil
	case <-room:
	case <-p.closed:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("no room in memory: %w", context.Cause(ctx))
	}
	return refuse()
}

// delayFor is how long an append of n bytes has to wait for its share, or until
// room is closed.
func (p *throttle) delayFor(n int64) (d time.Duration, room <-chan struct{}) {
	left := p.sealLeft.Load()
	if left == 0 {
		return 0, nil
	}
	free := max(p.usable-p.used.Load()-p.reserved.Load(), 1)
	rate := float64(p.sealRate.Load()) * float64(free) / float64(left)
	share := time.Duration(min(float64(n)/rate, 1) * float64(time.Second))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if early := now.Add(-maxBurst); p.paidUntil.Before(early) {
		p.paidUntil = early
	}
	p.paidUntil = p.paidUntil.Add(share)
	return p.paidUntil.Sub(now), p.freed
}

// sealStarted tells that a memtable of so many bytes is being sealed, sealed that
// so many bytes of it are, in all, and ends that it is over.
func (p *throttle) sealStarted(all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealStart, p.sealBytes, p.lastRate = time.Now(), all, float64(p.sealRate.Load())
	p.sealLeft.Store(all)
}

func (p *throttle) sealProgress(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.sealStart)
	p.sealLeft.Store(max(p.sealBytes-done, p.sealBytes/syncShare, 1))
	// The first block comes late: what the memtable before has told counts too.
	rate := (float64(done) + p.lastRate*rateWindow.Seconds()) / (took + rateWindow).Seconds()
	p.sealRate.Store(max(int64(rate), 1<<20))
}

func (p *throttle) sealEnded() { p.sealLeft.Store(0) }
