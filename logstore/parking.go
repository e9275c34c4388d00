package logstore

import (
	"context"
	"hash/maphash"
	"time"
)

// A scan whose consumer is idle is parked when another one needs memory: its
// workers stop, and its memory goes to those who need it. When the consumer comes
// back, it waits for memory in turn, and the scan makes its sources again, of what
// comes behind the last row that the consumer took. So what a query yields does not
// depend on whether it was parked, nor on when, and any number of parked scans take
// little memory: sources may be many, one for each segment or block that is left.
//
// Only a clock tells an idle consumer from one that is about to come back. A
// consumer notes when it leaves. That is looked at while others wait for memory,
// and where one that does not wait gets too little; it decides nothing but who goes
// first.

// An idleness is what is known of a consumer that is away.
type idleness struct {
	since time.Time // when it left
	// patience is how long it may stay away. It doubles whenever the scan is
	// parked: a consumer that is slow, but comes back, soon keeps its place.
	patience time.Duration
}

const (
	idleAfter    = 10 * time.Millisecond
	mostPatience = time.Second
)

// acquire waits for n bytes of memory. Meanwhile idle scans are parked.
func (r *readPool) acquire(ctx context.Context, n int64) (waited time.Duration, err error) {
	got := r.memory.TryAcquire(n, 0)
	if got == n {
		return 0, nil
	}
	begin := time.Now()
	r.memory.Release(got)
	r.mu.Lock()
	if r.waiters++; !r.parking {
		r.parking = true
		go r.parkWhileWaited()
	}
	r.mu.Unlock()
	_, err = r.memory.Acquire(ctx, n)
	r.mu.Lock()
	r.waiters--
	r.mu.Unlock()
	return time.Since(begin), err
}

// parkWhileWaited parks idle scans until nobody waits for memory.
func (r *readPool) parkWhileWaited() {
	for {
		r.parkIdle(time.Now())
		time.Sleep(r.idleAfter)
		r.mu.Lock()
		if r.waiters == 0 {
			r.parking = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
	}
}

// parkIdle parks the scans whose consumers have been away for too long. The caller
// holds the mutex of no scan.
func (r *readPool) parkIdle(now time.Time) {
	for _, s := range r.running() {
		s.mu.Lock()
		s.parkIfIdle(now)
		s.mu.Unlock()
	}
}

// tryParkIdle is parkIdle for a caller that may hold the mutex of its scan. Two of
// them must not wait for each other: it passes over a scan whose mutex is held.
func (r *readPool) tryParkIdle(now time.Time) {
	for _, s := range r.running() {
		if s.mu.TryLock() {
			s.parkIfIdle(now)
			s.mu.Unlock()
		}
	}
}

// parkIfIdle parks the scan if its consumer has been away for too long. mu is held.
func (s *scan) parkIfIdle(now time.Time) {
	in := &s.inbox
	if !in.away || s.end.begun || s.x.grant.parked {
		return
	}
	i := &in.idle
	if patience := max(i.patience, s.x.grant.pool.idleAfter); now.Sub(i.since) >= patience {
		i.patience = min(2*patience, mostPatience)
		s.x.stats.Parked++
		s.park()
	}
}

// park gives up the memory of a scan whose consumer is away. mu is held.
func (s *scan) park() {
	s.x.grant.parked = true
	if _, ordered := s.task.(entriesTask); ordered {
		s.giveUp()
	} else {
		s.unread(func(*results) bool { return true })
	}
	s.x.grant.shrink()
}

// A rest is what a scan knows of its sources that were given up. The mutex of the scan
// guards it.
type rest struct {
	resting bool
	epoch   int   // how often it gave up its sources
	seen    int64 // what begins at a lower key has been read
	// damage has a hash of each that was told, so that none is told again.
	damage map[uint64]struct{}
}

// giveUp forgets all sources and what was read of them, and what workers still read.
// mu is held.
func (s *scan) giveUp() {
	if !s.resting {
		s.resting = true
		s.seen = s.frontier()
		s.epoch++
	}
	s.drop(func(*results) bool { return true }, func(*results) {})
	s.queue.Items = nil
}

// takeUp makes the sources again. mu is held.
func (s *scan) takeUp() {
	s.resting = false
	x := s.x
	behind := s.inbox.taken.behind()
	x.sourcesBehind(behind, s.seen, s.push)
	s.pushTied()
	for _, t := range x.view.sealed {
		seg, err := t.segment()
		if err != nil {
			s.fail(err)
			return
		}
		b := newRestBranch(x, seg, sealedRank(x, t.index), behind)
		b.in.again, b.in.seen = true, s.seen
		s.pushRest(b)
	}
	handOver(s)
}

// tell leaves damage for the consumer. After sources were made again it leaves out what
// was told. mu is held.
func (s *scan) tell(damage []error) {
	for _, err := range damage {
		hash := maphash.String(damageSeed, err.Error())
		if _, told := s.damage[hash]; told && s.epoch > 0 {
			continue
		}
		if s.damage == nil {
			s.damage = map[uint64]struct{}{}
		}
		s.damage[hash] = struct{}{}
		s.inbox.damage = append(s.inbox.damage, err)
	}
}

var damageSeed = maphash.MakeSeed()

// unpark goes on with the least memory that a scan has, which has been acquired.
// mu is held.
func (s *scan) unpark() {
	g := s.x.grant
	g.parked = false
	g.granted += g.pool.minBytes
	if s.resting {
		s.takeUp()
	}
	s.workers.ready.Broadcast()
}

// unread makes sources of those results that were not yielded. mu is held.
func (s *scan) unread(which func(*results) bool) {
	s.drop(which, func(f *results) { s.push(f.leaf.unread(s.x, f)) })
}

// drop removes those results that were not yielded, and calls removed for each before
// that. mu is held.
func (s *scan) drop(which func(*results) bool, removed func(*results)) {
	m := &s.inbox.merge
	items := m.heap.Items
	m.heap.Items = nil
	for _, it := range items {
		f := it.Value
		if !which(f) {
			m.push(f)
			continue
		}
		removed(f)
		s.x.grant.held -= f.bytes()
		s.x.store.reads.results.put(f)
	}
	if len(m.heap.Items) < len(items) && s.top != nil && s.x.filter != nil {
		s.recount()
	}
}

// recount finds the bound anew from the results that are left: the others are
// counted when they are read again. mu is held.
func (s *scan) recount() {
	s.top = &topKeys{limit: max(1, s.inbox.left)}
	for _, it := range s.inbox.merge.heap.Items {
		f := it.Value
		for i := range f.rows[f.next:] {
			s.top.add(s.x.key(f.rows[f.next+i].time))
		}
	}
}
