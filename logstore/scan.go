package logstore

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// A sweep goes over the candidates of a search in the order in which their
// entries may begin, with several goroutines, and hands what they find to one
// consumer, which merges it: an entry is next once no candidate that was not
// read can have one before it.
//
// # Memory
//
// What was found waits in memory for the consumer. Workers read ahead of it
// while that is little (reads.grant); beyond they only read what the consumer
// waits for. That may be much too: the blocks of hundreds of streams of the
// same hours are all needed for the first entry. Then each gets a share of what
// the query may have, keeps the entries that come first, as many as fit in, and
// becomes a candidate again that begins with the first one that did not. At
// least one entry is kept each time, so this comes to an end in any memory; it
// costs that a block is decoded again for each share.
type sweep struct {
	x   *search
	job func(w *scratch, c candidate, bound, room int64) outcome
	// whole, unless nil, reports whether it has taken care of a run.
	whole wholeFunc

	wg     sync.WaitGroup
	halted atomic.Bool // the consumer need not go on
	enough bool        // it said so: its own

	mu       sync.Mutex
	work     sync.Cond   // for workers: there are candidates, or there is room, or the end
	done     sync.Cond   // for the consumer: it can go on
	queue    []candidate // a heap, by start
	begun    []int64     // for each worker the start of what it reads, or idle
	reading  []*memtable // for each worker that which it reads, or nil
	idle     int         // of begun
	leaving  bool        // a memtable is given back when no worker reads it
	ended    bool
	closed   bool  // the view is released
	err      error // why it ended
	ready    []*found
	bad      []error // damage that the consumer has to be told of
	nearest  *nearest
	kept     []candidate // by narrow
	held     int64       // bytes of what was found, and of shares of those being read
	grant    int64       // bytes of the store's budget
	waiting  bool        // the consumer needs what may come up to wanted
	wanted   int64
	stopWait func() bool
}

const idle = math.MaxInt64

// An outcome is what came of one candidate.
type outcome struct {
	found *found
	more  []candidate
	bad   []error
	err   error      // of the whole search
	keys  []pick     // of scratch: for nearest
	keep  *candidate // for kept
}

// newSweep makes one, which ends the search when it ends. End it.
func newSweep(x *search) *sweep {
	s := &sweep{x: x, grant: x.store.reads.grant}
	s.work.L, s.done.L = &s.mu, &s.mu
	s.stopWait = context.AfterFunc(x.ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(context.Cause(x.ctx))
	})
	return s
}

// begin makes the candidates.
func (s *sweep) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.x.candidates(s.whole, s.push); err != nil {
		return err
	}
	r := s.x.store.reads
	r.mu.Lock()
	r.sweeps[s] = struct{}{}
	r.mu.Unlock()
	s.handOver() // what was sealed before that
	return nil
}

// end waits for the workers, which are at most at one candidate each, and gives
// all memory back.
func (s *sweep) end() {
	r := s.x.store.reads
	r.mu.Lock()
	delete(r.sweeps, s)
	r.mu.Unlock()
	s.stopWait()
	s.halted.Store(true)
	s.mu.Lock()
	s.ended = true
	s.work.Broadcast()
	s.mu.Unlock()
	s.wg.Wait()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.x.view.release()
	s.x.endContext()
	r.budget.give(s.grant)
}

// fail ends the sweep. mu is held.
func (s *sweep) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.ended = true
	s.halted.Store(true)
	s.work.Broadcast()
	s.done.Signal()
}

// push adds a candidate. There are no workers yet, or mu is held.
func (s *sweep) push(c candidate) {
	s.queue = append(s.queue, c)
	for i := len(s.queue) - 1; i > 0; {
		up := (i - 1) / 2
		if s.queue[i].start >= s.queue[up].start {
			return
		}
		s.queue[i], s.queue[up] = s.queue[up], s.queue[i]
		i = up
	}
}

func (s *sweep) pop() candidate {
	c := s.queue[0]
	last := len(s.queue) - 1
	s.queue[0], s.queue[last] = s.queue[last], candidate{}
	s.queue = s.queue[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if s.queue[child].start < s.queue[least].start {
				least = child
			}
		}
		if least == i {
			return c
		}
		s.queue[i], s.queue[least] = s.queue[least], s.queue[i]
		i = least
	}
}

// frontier is the key that nothing that was not read comes before. mu is held.
func (s *sweep) frontier() int64 {
	f := int64(math.MaxInt64)
	if len(s.queue) > 0 {
		f = s.queue[0].start
	}
	for _, start := range s.begun {
		f = min(f, start)
	}
	return f
}

// over: all candidates were read. mu is held.
func (s *sweep) over() bool { return len(s.queue) == 0 && s.idle == len(s.begun) }

// staff starts a worker if there is something to do for one more. mu is held.
func (s *sweep) staff() {
	if !s.ended && len(s.queue) > 0 && s.idle == 0 && len(s.begun) < s.x.store.crew() {
		s.begun, s.reading = append(s.begun, idle), append(s.reading, nil)
		s.idle++
		s.wg.Add(1)
		go s.worker(len(s.begun) - 1)
	}
}

// admits: the next candidate may be read. mu is held.
func (s *sweep) admits() bool {
	return s.held < s.x.store.reads.grant || s.waiting && s.queue[0].start <= s.wanted
}

func (s *sweep) worker(me int) {
	defer s.wg.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		// Who waits because there are others at work need not be woken by them: they
		// go on as long as there is something to do.
		for !s.ended && (len(s.queue) == 0 || !s.admits() || len(s.begun)-s.idle >= s.x.store.crew()) {
			s.work.Wait()
		}
		if s.ended {
			return
		}
		bound := s.nearest.bound()
		if s.queue[0].start > bound {
			s.queue = nil // and so is all the rest
			s.report()
			continue
		}
		c := s.pop()
		s.begun[me] = c.start
		if c.memory != nil {
			s.reading[me] = c.memory.mem
		}
		s.idle--
		room := s.share(c)
		s.held += room
		s.staff()
		if len(s.queue) > 0 {
			s.work.Signal()
		}
		s.mu.Unlock()
		w := s.x.store.reads.borrow()
		out := s.read(w, c, bound, room)
		// An append that is ready to run must not wait for all of a query.
		runtime.Gosched()
		s.mu.Lock()
		s.held -= room
		s.publish(out, bound)
		s.x.store.reads.giveBack(w)
		s.begun[me], s.reading[me] = idle, nil
		s.idle++
		if s.leaving {
			s.handOver()
		}
		s.report()
	}
}

// read does what a candidate of its kind is there for.
func (s *sweep) read(w *scratch, c candidate, bound, room int64) (out outcome) {
	switch {
	case s.halted.Load():
	case c.segment != nil:
		out.more = s.expand(c, bound, out.add)
	case c.group != nil:
		out.more = s.ask(c.group, bound, out.add)
	default:
		out = s.job(w, c, bound, room)
	}
	return out
}

// add takes in an error: damage is told, anything else is the end.
func (o *outcome) add(err error) {
	if err == nil {
		return
	}
	if c, ok := damage(err); ok {
		o.bad = append(o.bad, c)
	} else if o.err == nil {
		o.err = err
	}
}

// publish takes in what came of a candidate. mu is held.
func (s *sweep) publish(o outcome, bound int64) {
	if o.err != nil {
		s.fail(o.err)
	}
	for _, c := range o.more {
		s.push(c)
	}
	s.bad = append(s.bad, o.bad...)
	if f := o.found; f != nil {
		s.held += f.bytes()
		s.ready = append(s.ready, f)
		s.wanted = min(s.wanted, s.x.key(f.head().time))
		if s.nearest != nil && s.x.filter != nil {
			for i := range f.rows[:min(len(f.rows), s.x.limit)] {
				s.nearest.add(s.x.key(f.rows[i].time))
			}
		}
	}
	for _, p := range o.keys {
		if k := s.x.key(p.time); k <= bound {
			s.nearest.add(k)
		}
	}
	if o.keep != nil {
		s.kept = append(s.kept, *o.keep)
	}
}

// report wakes whoever can go on. mu is held.
func (s *sweep) report() {
	if s.waiting && (len(s.bad) > 0 || s.frontier() > s.wanted || s.over()) {
		s.done.Signal()
	}
	s.staff()
	if len(s.queue) > 0 {
		s.work.Signal()
	}
}

const (
	leastShare = 4 << 10
	// foundSlack is how many times its bytes of lines a candidate may take when
	// it was found: there is a row for each, and memory comes in powers of two.
	foundSlack = 4
)

// share returns how many bytes of a candidate's entries may be kept. mu is held.
func (s *sweep) share(c candidate) int64 {
	if c.segment != nil || c.group != nil {
		return 0
	}
	// Those that begin before this one ends are needed beside it. Some of the
	// queue tell how many they are.
	others, step := int64(0), max(1, len(s.queue)/64)
	for i := 0; i < len(s.queue); i += step {
		if s.queue[i].start <= c.end {
			others += int64(step)
		}
	}
	full := foundSlack*c.raw + leastShare
	if wish := min(s.x.store.reads.most, s.held+(others+1)*full); wish > s.grant {
		s.grant += s.x.store.reads.budget.try(wish-s.grant, s.x.store.reads.leave)
	}
	share := (s.grant - s.held) / (others + 1)
	if s.held < 2*s.grant {
		share = max(share, leastShare)
	}
	return max(0, min(share, full))
}

// await lets the consumer, which needs all up to the key wanted, sleep until
// something has changed for it. mu is held.
func (s *sweep) await(wanted int64) {
	s.staff()
	s.waiting, s.wanted = true, wanted
	s.work.Broadcast()
	s.done.Wait()
	s.waiting = false
}
