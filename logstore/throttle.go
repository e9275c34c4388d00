package logstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A pacer bounds the memory of what is not yet sealed, and slows appends down
// before they would have to stop for it.
//
// While a memtable is being sealed, another one fills. If appends go on as fast
// as they can, the second is full before the first is gone, and then all of them
// stop until it is, for some tenths of a second. So each append waits a little:
// with room for a more bytes, r bytes yet to be sealed, and v bytes sealed in a
// second, there is room again in r/v seconds, and appends that come at a*v/r
// bytes a second just do not fill the memory until then. Nothing waits that
// comes slower than that.
type pacer struct {
	limit  int64
	most   int64 // limit less what one more chunk and longer rows may take
	closed <-chan struct{}
	wanted func() // tells that something must be sealed

	used    atomic.Int64 // bytes of all memtables that are not sealed
	claimed atomic.Int64 // by appends that are about to take them
	waiting atomic.Int64 // appends
	stuck   atomic.Int64 // those of them that wait for room
	delays  atomic.Int64 // in ns, in all
	stops   atomic.Int64 // appends that found no room

	left atomic.Int64 // bytes yet to be sealed, of the one that is being sealed
	rate atomic.Int64 // bytes sealed in a second

	mu    sync.Mutex
	turns []*turn       // of appends that found no room, in their order
	room  chan struct{} // closed and made anew when there is more room
	// Of the memtable that is being sealed: when that began, its bytes, and the
	// rate until then.
	begun  time.Time
	all    int64
	before float64
	spent  time.Time // the moment to which appends have used up their share
}

const (
	// firstRate is taken for the rate of sealing until there is one, in bytes a
	// second.
	firstRate = 64 << 20
	// slack is how far appends may run ahead of their share, so that those that
	// come in bursts and are slow on the whole do not wait.
	slack = 20 * time.Millisecond
	// memory is for how long the rate before counts.
	memory = 200 * time.Millisecond
	// lastShare of a memtable counts as not yet sealed until all of it is: its
	// segment must be made durable after the last block was written.
	lastShare = 16
)

func newPacer(limit int64, closed <-chan struct{}, wanted func()) *pacer {
	p := &pacer{limit: limit, most: limit - chunkSize - limit/32, closed: closed, wanted: wanted, room: make(chan struct{})}
	p.rate.Store(firstRate)
	return p
}

// calm tells that memory is not short: what is to be sealed has about all of it
// that is taken, and the next memtable has hardly begun to fill.
func (p *pacer) calm() bool { return p.used.Load() < p.limit/8*5 }

// take counts memory of memtables, give back what is negative.
func (p *pacer) take(n int64) { p.used.Add(n) }

// giveBack counts memory of a memtable that has been sealed.
func (p *pacer) giveBack(n int64) {
	p.used.Add(-n)
	p.wakeAll()
}

// wakeAll has all that wait look again.
func (p *pacer) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant()
	close(p.room)
	p.room = make(chan struct{})
	p.spent = time.Time{}
}

// A claim is the memory that an append is about to take, at most: for its record,
// and later for its rows. It is given up when that has been taken, and counted,
// or not.
type claim struct{ arena, heads int64 }

// claimOf is the claim of a record of so many bytes. A chunk may stay empty in
// part because the record does not fit; the record may have to be copied to the
// next memtable (insert); and rows may need twice their memory.
func claimOf(size, rows, streams int) claim {
	return claim{2 * int64(size), int64(size) + 2*int64(rows)*rowSize + int64(streams)*headBytes}
}

// taken is about what is taken in the end.
func (c claim) taken() int64 { return (c.arena + c.heads) / 3 }

// enter waits until the memory may be taken that c claims. An append that finds
// the memory all but empty always may. Those that find no room get it in the
// order in which they came, so that one which wants much is not overtaken for
// ever. refuse says why waiting is of no use, or returns nil.
func (p *pacer) enter(ctx context.Context, c claim, refuse func() error) error {
	if d, room := p.delay(c.taken()); d > 0 {
		if err := p.wait(ctx, d, nil, room, refuse); err != nil {
			return err
		}
	}
	n := c.arena + c.heads
	if p.stuck.Load() == 0 && p.try(n) {
		return nil
	}
	p.stops.Add(1)
	t := &turn{n, make(chan struct{})}
	p.mu.Lock()
	p.turns = append(p.turns, t)
	p.grant()
	p.mu.Unlock()
	for {
		p.mu.Lock()
		room := p.room
		p.mu.Unlock()
		select {
		case <-t.come:
			return nil
		default:
		}
		p.wanted()
		if err := p.wait(ctx, 0, t.come, room, refuse); err != nil {
			p.abandon(t)
			return err
		}
	}
}

// A turn is an append that waits for room.
type turn struct {
	n    int64
	come chan struct{} // closed when it has its claim
}

// try makes a claim if there is room for it. After one that fails the caller
// sees to it that grant is called: it may have been in the way of another.
func (p *pacer) try(n int64) bool {
	if all := p.claimed.Add(n); p.used.Load()+all <= p.most || all == n && p.used.Load() <= p.limit/4 {
		return true
	}
	p.claimed.Add(-n)
	return false
}

// grant gives their claims to those whose turn it is. mu is held.
func (p *pacer) grant() {
	// Told before it is looked: what gets less after the look finds it.
	p.stuck.Store(int64(len(p.turns)))
	for len(p.turns) > 0 && p.try(p.turns[0].n) {
		close(p.turns[0].come)
		p.turns = slices.Delete(p.turns, 0, 1)
		p.stuck.Store(int64(len(p.turns)))
	}
}

// abandon gives up a turn, or the claim that it has come to.
func (p *pacer) abandon(t *turn) {
	p.mu.Lock()
	i := slices.Index(p.turns, t)
	if i >= 0 {
		p.turns = slices.Delete(p.turns, i, i+1)
		p.grant()
	}
	p.mu.Unlock()
	if i < 0 {
		p.entered(t.n)
	}
}

// entered gives up a claim: what it was for has been taken, and counted, or
// never will be.
func (p *pacer) entered(n int64) {
	p.claimed.Add(-n)
	if p.stuck.Load() == 0 {
		return
	}
	p.mu.Lock()
	p.grant()
	p.mu.Unlock()
	if p.stuck.Load() > 0 {
		p.wanted() // there may have been nothing to seal before
	}
}

// wait waits for d, if that is not 0, or until come or room is closed.
func (p *pacer) wait(ctx context.Context, d time.Duration, come, room <-chan struct{}, refuse func() error) error {
	if err := refuse(); err != nil {
		return err
	}
	begun := time.Now()
	p.waiting.Add(1)
	defer func() {
		p.waiting.Add(-1)
		p.delays.Add(int64(time.Since(begun)))
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

// delay is how long an append of n bytes has to wait for its share, or until
// room is closed.
func (p *pacer) delay(n int64) (d time.Duration, room <-chan struct{}) {
	left := p.left.Load()
	if left == 0 {
		return 0, nil
	}
	free := max(p.most-p.used.Load()-p.claimed.Load(), 1)
	rate := float64(p.rate.Load()) * float64(free) / float64(left)
	share := time.Duration(min(float64(n)/rate, 1) * float64(time.Second))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if early := now.Add(-slack); p.spent.Before(early) {
		p.spent = early
	}
	p.spent = p.spent.Add(share)
	return p.spent.Sub(now), p.room
}

// seals tells that a memtable of so many bytes is being sealed, sealed that
// so many bytes of it are, in all, and ends that it is over.
func (p *pacer) seals(all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.all, p.before = time.Now(), all, float64(p.rate.Load())
	p.left.Store(all)
}

func (p *pacer) sealed(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.begun)
	p.left.Store(max(p.all-done, p.all/lastShare, 1))
	// The first block comes late: what the memtable before has told counts too.
	rate := (float64(done) + p.before*memory.Seconds()) / (took + memory).Seconds()
	p.rate.Store(max(int64(rate), 1<<20))
}

func (p *pacer) ends() { p.left.Store(0) }
