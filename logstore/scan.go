package logstore

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// A scan reads the candidates of a search in the order in which their entries
// may begin, with several workers, and passes the results to one consumer,
// which merges them: an entry is next once no unread candidate can have an
// earlier one.
//
// # Memory
//
// Results wait in memory for the consumer. Workers prefetch while those are few
// (readPool.minBytes); beyond that they read only what the consumer waits for.
// That may be much too: the blocks of hundreds of streams of the same hours are
// all needed for the first entry. Then each candidate gets a share of the
// query's memory, keeps its first entries, as many as fit, and becomes a
// candidate again that begins with the first entry that did not. At least one
// entry is kept each time, so a scan ends in any memory; the price is that a
// block is decoded again for each share.
type scan struct {
	x   *search
	job func(w *reading, c candidate, bound, limit int64) outcome
	// summary, unless nil, handles runs that need not be read.
	summary summaryFunc

	wg      sync.WaitGroup
	halted  atomic.Bool // workers need not go on
	stopped bool        // by the consumer, which alone uses it

	mu             sync.Mutex
	workReady      sync.Cond   // for workers: candidates, memory, or the end
	progress       sync.Cond   // for the consumer
	queue          []candidate // a heap by start
	starts         []int64     // by worker: the start of its candidate, or maxKey
	memtables      []*memtable // by worker: the one it reads, or nil
	idleWorkers    int
	releasePending bool // a sealed memtable is released once no worker reads it
	ended          bool
	closed         bool  // the view is released
	err            error // why it ended
	ready          []*results
	damage         []error // not yet reported to the consumer
	top            *topKeys
	narrowed       []candidate // left by scanTimes
	heldBytes      int64       // results, and shares of candidates being read
	grantedBytes   int64       // bytes of readPool.memory
	waiting        bool        // the consumer needs all up to wantedKey
	wantedKey      int64
	stopWait       func() bool
}

// maxKey is no key of an entry: nothing is read, or no bound.
const maxKey = math.MaxInt64

// An outcome is the result of processing one candidate.
type outcome struct {
	results  *results
	more     []candidate
	damage   []error
	err      error      // of the whole search
	keys     []pick     // of the reading, for top
	narrowed *candidate // for scan.narrowed
}

// newScan makes a scan, which ends the search when it ends. The caller calls
// end.
func newScan(x *search) *scan {
	s := &scan{x: x, grantedBytes: x.store.reads.minBytes}
	s.workReady.L, s.progress.L = &s.mu, &s.mu
	s.stopWait = context.AfterFunc(x.ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(context.Cause(x.ctx))
	})
	return s
}

// begin makes the candidates.
func (s *scan) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.x.candidates(s.summary, s.push); err != nil {
		return err
	}
	r := s.x.store.reads
	r.mu.Lock()
	r.scans[s] = struct{}{}
	r.mu.Unlock()
	s.switchSealed() // memtables sealed before that
	return nil
}

// end waits for the workers, which process at most one candidate each, and
// releases all memory.
func (s *scan) end() {
	r := s.x.store.reads
	r.mu.Lock()
	delete(r.scans, s)
	r.mu.Unlock()
	s.stopWait()
	s.halted.Store(true)
	s.mu.Lock()
	s.ended = true
	s.workReady.Broadcast()
	s.mu.Unlock()
	s.wg.Wait()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.x.view.release()
	s.x.endContext()
	r.memory.Release(s.grantedBytes)
}

// fail ends the scan. mu is held.
func (s *scan) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.ended = true
	s.halted.Store(true)
	s.workReady.Broadcast()
	s.progress.Signal()
}

// push adds a candidate. mu is held, or there are no workers yet.
func (s *scan) push(c candidate) {
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

func (s *scan) pop() candidate {
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

// frontier returns a key that no unread entry comes before. mu is held.
func (s *scan) frontier() int64 {
	f := int64(math.MaxInt64)
	if len(s.queue) > 0 {
		f = s.queue[0].start
	}
	for _, start := range s.starts {
		f = min(f, start)
	}
	return f
}

// drained reports whether all candidates were read. mu is held.
func (s *scan) drained() bool { return len(s.queue) == 0 && s.idleWorkers == len(s.starts) }

// startWorker starts a worker if there is work for one more. mu is held.
func (s *scan) startWorker() {
	if !s.ended && len(s.queue) > 0 && s.idleWorkers == 0 && len(s.starts) < s.x.store.maxWorkers() {
		s.starts, s.memtables = append(s.starts, maxKey), append(s.memtables, nil)
		s.idleWorkers++
		s.wg.Add(1)
		go s.worker(len(s.starts) - 1)
	}
}

// mayRead reports whether the next candidate may be read. mu is held.
func (s *scan) mayRead() bool {
	return s.heldBytes < s.x.store.reads.minBytes || s.waiting && s.queue[0].start <= s.wantedKey
}

func (s *scan) worker(me int) {
	defer s.wg.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		// Running workers need not wake one that waits because they run: they go on
		// as long as there is work.
		for !s.ended && (len(s.queue) == 0 || !s.mayRead() || len(s.starts)-s.idleWorkers >= s.x.store.maxWorkers()) {
			s.workReady.Wait()
		}
		if s.ended {
			return
		}
		bound := s.top.bound()
		if s.queue[0].start > bound {
			s.queue = nil // the others start even later
			s.wake()
			continue
		}
		c := s.pop()
		s.starts[me] = c.start
		if c.memory != nil {
			s.memtables[me] = c.memory.mem
		}
		s.idleWorkers--
		share := s.shareFor(c)
		s.heldBytes += share
		s.startWorker()
		if len(s.queue) > 0 {
			s.workReady.Signal()
		}
		s.mu.Unlock()
		w := s.x.store.reads.acquireReading()
		w.x, w.halted = s.x, &s.halted
		out := s.process(w, c, bound, share)
		// A runnable append must not wait for all of a query.
		runtime.Gosched()
		s.mu.Lock()
		s.heldBytes -= share
		s.publish(out, bound)
		s.x.store.reads.releaseReading(w)
		s.starts[me], s.memtables[me] = maxKey, nil
		s.idleWorkers++
		if s.releasePending {
			s.switchSealed()
		}
		s.wake()
	}
}

// process handles a candidate by its kind.
func (s *scan) process(w *reading, c candidate, bound, limit int64) (out outcome) {
	switch {
	case s.halted.Load():
	case c.segment != nil:
		out.more = s.expand(c, bound, out.add)
	case c.group != nil:
		out.more = s.filterGroup(c.group, bound, out.add)
	default:
		out = s.job(w, c, bound, limit)
	}
	return out
}

// add records an error: damage is reported, any other error ends the scan.
func (o *outcome) add(err error) {
	if err == nil {
		return
	}
	if c, ok := asDamage(err); ok {
		o.damage = append(o.damage, c)
	} else if o.err == nil {
		o.err = err
	}
}

// publish takes in the outcome of a candidate. mu is held.
func (s *scan) publish(o outcome, bound int64) {
	if o.err != nil {
		s.fail(o.err)
	}
	for _, c := range o.more {
		s.push(c)
	}
	s.damage = append(s.damage, o.damage...)
	if f := o.results; f != nil {
		s.heldBytes += f.bytes()
		s.ready = append(s.ready, f)
		s.wantedKey = min(s.wantedKey, s.x.key(f.first().time))
		if s.top != nil && s.x.filter != nil {
			for i := range f.rows[:min(len(f.rows), s.x.limit)] {
				s.top.add(s.x.key(f.rows[i].time))
			}
		}
	}
	for _, p := range o.keys {
		if k := s.x.key(p.time); k <= bound {
			s.top.add(k)
		}
	}
	if o.narrowed != nil {
		s.narrowed = append(s.narrowed, *o.narrowed)
	}
}

// wake wakes the consumer and workers that can go on. mu is held.
func (s *scan) wake() {
	if s.waiting && (len(s.damage) > 0 || s.frontier() > s.wantedKey || s.drained()) {
		s.progress.Signal()
	}
	s.startWorker()
	if len(s.queue) > 0 {
		s.workReady.Signal()
	}
}

const (
	minShare = 4 << 10
	// resultSlack times its bytes of lines is the most that the results of a
	// candidate take: there is a row for each line, and memory comes in powers
	// of two.
	resultSlack = 4
)

// shareFor returns how many bytes of a candidate's entries may be kept. mu is
// held.
func (s *scan) shareFor(c candidate) int64 {
	if c.segment != nil || c.group != nil {
		return 0
	}
	// Candidates that begin before this one ends are needed beside it. A sample of
	// the queue shows how many they are.
	others, step := int64(0), max(1, len(s.queue)/64)
	for i := 0; i < len(s.queue); i += step {
		if s.queue[i].start <= c.end {
			others += int64(step)
		}
	}
	full := resultSlack*c.raw + minShare
	if wish := min(s.x.store.reads.maxBytes, s.heldBytes+(others+1)*full); wish > s.grantedBytes {
		s.grantedBytes += s.x.store.reads.memory.TryAcquire(wish-s.grantedBytes, s.x.store.reads.reserve)
	}
	share := (s.grantedBytes - s.heldBytes) / (others + 1)
	if s.heldBytes < 2*s.grantedBytes {
		share = max(share, minShare)
	}
	return max(0, min(share, full))
}

// wait blocks the consumer, which needs all entries up to wanted, until
// something has changed for it. mu is held.
func (s *scan) wait(wanted int64) {
	s.startWorker()
	s.waiting, s.wantedKey = true, wanted
	s.workReady.Broadcast()
	s.progress.Wait()
	s.waiting = false
}
