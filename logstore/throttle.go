package logstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore/internal/arena"
)

// A throttle bounds the memory of memtables, and delays appends before they
// would have to block.
//
// While a memtable is being sealed, another one fills. At full speed it would
// be full before the first is released, and all appends would block until then,
// for some tenths of a second. So each append is delayed a little: with a bytes
// free, r bytes yet to be sealed, and v bytes sealed a second, the memory is
// released in r/v seconds, and appends of a*v/r bytes a second do not quite use
// up the free bytes until then. Slower appends are not delayed, nor any while most of what
// was free when the seal began still is: how fast it is, is not known at first.
//
// It is not a semaphore.Weighted: a reservation takes no lock unless an append
// waits, memory is also taken and released without a reservation, and a waiting
// append gives up when the store refuses appends.
type throttle struct {
	limit       int64
	usable      int64 // limit less one more chunk and the growth of rows
	closed      <-chan struct{}
	requestSeal func() // asks the sealer to seal
	// trim, unless nil, is called with how many bytes the memory of earlier memtables
	// may keep, whenever another trimStep is used.
	trim func(most int64)

	used         atomic.Int64 // bytes of all memtables that are not sealed, and of their streams
	reserved     atomic.Int64 // by appends that are about to take them
	waiting      atomic.Int64 // appends
	blocked      atomic.Int64 // of these, the ones that wait for memory
	delayed      atomic.Int64 // in ns, in all
	blockedTotal atomic.Int64 // appends that had to wait for memory

	sealFree atomic.Int64 // bytes that were free when the seal began, about; 0 or less: none
	sealLeft atomic.Int64 // bytes yet to be sealed, of the one that is being sealed
	sealRate atomic.Int64 // bytes sealed in a second

	mu    sync.Mutex
	queue []*throttleWaiter // appends that wait for memory, in order
	freed chan struct{}     // closed and replaced when memory is freed
	// Of the memtable that is being sealed: when that began, its bytes, and the
	// rate until then.
	sealStart time.Time
	sealBytes int64
	lastRate  float64
	paidUntil time.Time // the moment to which appends have used up their share
}

const (
	// initialRate is the assumed rate of sealing before the first one, in bytes
	// a second.
	initialRate = 64 << 20
	// maxBurst is how far appends may run ahead of their share, so that slow
	// bursts are not delayed.
	maxBurst = 20 * time.Millisecond
	// rateWindow is the weight of the rate before.
	rateWindow = 200 * time.Millisecond
	// trimStep is small beside the memory of memtables, and large beside what an append
	// takes.
	trimStep = 256 << 10
	// One syncShare-th of a memtable counts as unsealed until the whole seal is
	// done: its segment is synced after the last block is written.
	syncShare = 16
)

func newThrottle(limit int64, closed <-chan struct{}, wanted func()) *throttle {
	p := &throttle{limit: limit, usable: limit - arena.ChunkSize - limit/32, closed: closed, requestSeal: wanted, freed: make(chan struct{})}
	p.sealRate.Store(initialRate)
	return p
}

// hasHeadroom reports whether memory is not short: the memtable being sealed
// has nearly all of it, and the next has hardly begun to fill.
func (p *throttle) hasHeadroom() bool { return p.used.Load() < p.limit/8*5 }

// take counts memory of memtables and streams: a negative n gives it back.
func (p *throttle) take(n int64) {
	used := p.used.Add(n)
	if n > 0 && p.trim != nil && used/trimStep != (used-n)/trimStep {
		p.trim(p.limit - used)
	}
	if n < 0 && p.blocked.Load() > 0 {
		p.mu.Lock()
		p.grant()
		p.mu.Unlock()
	}
}

// free subtracts the memory of a memtable that was sealed.
func (p *throttle) free(n int64) {
	p.used.Add(-n)
	p.wakeAll()
}

// wakeAll makes all waiting appends check again.
func (p *throttle) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant()
	close(p.freed)
	p.freed = make(chan struct{})
	p.paidUntil = time.Time{}
}

// A reservation is the most memory that an append may take: for its record, and
// later for its rows. Each part is released once the memory is taken and
// counted, or will not be taken.
type reservation struct{ arena, rows int64 }

// reservationFor returns the reservation of a record of size bytes. A chunk may
// stay empty in part because the record does not fit; the record may have to be
// copied to the next memtable (insert); and rows may need twice their memory.
func reservationFor(size, rows int, streams []recordStream) reservation {
	c := reservation{2 * int64(size), int64(size) + 2*int64(rows)*memRowSize + int64(len(streams))*memStreamBytes}
	for i := range streams {
		if p := &streams[i]; p.stream == nil {
			c.rows += newStreamBytes + int64(len(p.labels.enc))
			for range p.labels.All() {
				c.rows += newLabelBytes
			}
		}
	}
	return c
}

// expected returns about how much the append will take.
func (c reservation) expected() int64 { return (c.arena + c.rows) / 3 }

// reserve waits until the memory of c may be taken. An append that finds nearly
// all memory free need not wait. Others get it in the order of their calls, so
// that a large one is not starved by small ones. refuse returns an error if
// waiting is useless, or nil.
func (p *throttle) reserve(ctx context.Context, c reservation, refuse func() error) error {
	if d, freed := p.delayFor(c.expected()); d > 0 {
		if err := p.wait(ctx, d, nil, freed, refuse); err != nil {
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
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-t.granted:
			return nil
		default:
		}
		p.requestSeal()
		if err := p.wait(ctx, 0, t.granted, freed, refuse); err != nil {
			p.abandon(t)
			return err
		}
	}
}

// A throttleWaiter is an append that waits for memory.
type throttleWaiter struct {
	n       int64
	granted chan struct{} // closed when it has its claim
}

// tryReserve reserves n bytes if they are free. After a failure the caller must
// call grant, as the attempt may have made another one fail.
func (p *throttle) tryReserve(n int64) bool {
	if all := p.reserved.Add(n); p.used.Load()+all <= p.usable || all == n && p.used.Load() <= p.limit/4 {
		return true
	}
	p.reserved.Add(-n)
	return false
}

// grant grants waiting appends their reservations, in order. mu is held.
func (p *throttle) grant() {
	// Stored before memory is checked: a release after the check sees it and
	// calls grant.
	p.blocked.Store(int64(len(p.queue)))
	for len(p.queue) > 0 && p.tryReserve(p.queue[0].n) {
		close(p.queue[0].granted)
		p.queue = slices.Delete(p.queue, 0, 1)
		p.blocked.Store(int64(len(p.queue)))
	}
}

// abandon removes a waiter, or gives up the reservation that it was granted.
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

// unreserve releases n reserved bytes: they are taken and counted, or will not
// be taken.
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

// wait waits for d, if that is not 0, or until granted or freed is closed.
func (p *throttle) wait(ctx context.Context, d time.Duration, granted, freed <-chan struct{}, refuse func() error) error {
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
	case <-granted:
		return nil
	case <-freed:
	case <-p.closed:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for memory: %w", context.Cause(ctx))
	}
	return refuse()
}

// delayFor returns how long an append of n bytes waits for its share, unless
// freed is closed before.
func (p *throttle) delayFor(n int64) (d time.Duration, freed <-chan struct{}) {
	left := p.sealLeft.Load()
	if left == 0 {
		return 0, nil
	}
	free := max(p.usable-p.used.Load()-p.reserved.Load(), 1)
	if most := p.sealFree.Load() / 4 * 3; most > 0 && free > most {
		return 0, nil
	}
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

// sealStarted begins the seal of a memtable of all bytes, sealProgress counts
// done bytes of it in total, and sealEnded ends it.
func (p *throttle) sealStarted(all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealStart, p.sealBytes, p.lastRate = time.Now(), all, float64(p.sealRate.Load())
	// Reservations end soon, and take a third of what they reserve.
	p.sealFree.Store(p.usable - p.used.Load() - p.reserved.Load()/3)
	p.sealLeft.Store(all)
}

func (p *throttle) sealProgress(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.sealStart)
	p.sealLeft.Store(max(p.sealBytes-done, p.sealBytes/syncShare, 1))
	// The first block comes late, so the rate of the previous memtable counts too.
	rate := (float64(done) + p.lastRate*rateWindow.Seconds()) / (took + rateWindow).Seconds()
	p.sealRate.Store(max(int64(rate), 1<<20))
}

func (p *throttle) sealEnded() { p.sealLeft.Store(0) }
