package logstore

import (
	"context"
	"errors"
	"sync"
)

// workers are the goroutines that read the sources of a scan.
type workers struct {
	all   sync.WaitGroup
	ready sync.Cond   // sources, memory, or the end
	reads []underRead // by worker
	idle  int         // how many read nothing
}

// An underRead is the source that a worker reads.
type underRead struct {
	first int64     // its first key; maxKey: nothing is read
	mem   *memtable // it is in, or nil
}

// An outcome is what reading one source gave.
type outcome struct {
	results *results
	more    []source
	damage  []error
	err     error  // of the whole search
	keys    []pick // of the reading, for topKeys
	kept    source // for scan.kept; nil: nothing
}

// errGoexit is the error of a search whose filter called runtime.Goexit, as
// testing.T.FailNow does.
var errGoexit = errors.New("the filter or Folder ended the goroutine that called it")

// startWorker starts a worker if there is work for one more. mu is held.
func (s *scan) startWorker() {
	w := &s.workers
	if !s.end.begun && len(s.queue.Items) > 0 && w.idle == 0 && len(w.reads) < s.x.maxWorkers() {
		w.reads = append(w.reads, underRead{first: maxKey})
		w.idle++
		w.all.Add(1)
		go s.work(len(w.reads) - 1)
	}
}

// work is worker number me.
func (s *scan) work(me int) {
	defer s.workers.all.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		// Running workers need not wake one that waits because they run: they go on
		// as long as there is work.
		for !s.end.begun && !s.mayRead() {
			s.workers.ready.Wait()
		}
		if s.end.begun {
			return
		}
		bound := s.top.bound()
		if s.queue.Items[0].Key > bound {
			s.queue.Items = nil // the others begin even later
			s.wake()
			continue
		}
		s.readNext(me, bound)
	}
}

// mayRead reports whether a worker may read the first source of the queue: not one in
// a memtable that is to be handed over once no worker reads it. mu is held.
func (s *scan) mayRead() bool {
	return len(s.queue.Items) > 0 && !(s.handingOver && isSealed(s.queue.Items[0].Value)) && s.x.grant.mayRead(s.queue.Items[0].Key) &&
		len(s.workers.reads)-s.workers.idle < s.x.maxWorkers()
}

// readNext reads the first source of the queue. It releases mu meanwhile.
func (s *scan) readNext(me int, bound int64) {
	under := &s.workers.reads[me]
	under.first = s.queue.Items[0].Key
	src := s.queue.Pop()
	if in, ok := src.(inMemory); ok {
		under.mem = in.memtable()
	}
	s.workers.idle--
	of := s.x.grant.take(s.task, src, s.queue.Items)
	s.startWorker()
	if len(s.queue.Items) > 0 {
		s.workers.ready.Signal()
	}
	t, epoch := s.task, s.epoch
	s.mu.Unlock()
	r := s.x.store.reads.acquireReading(s.x.ctx)
	out := outcome{err: errGoexit} // unless read returns
	defer func() {
		s.mu.Lock()
		s.x.grant.held -= of.bytes
		if r != nil {
			s.x.stats.add(&r.stats)
			s.checkBytes()
		}
		if epoch != s.epoch { // its source was given up
			s.x.store.reads.results.discard(out.results)
			out.results, out.more, out.keys = nil, nil, nil
		}
		s.publish(&out, bound)
		s.x.store.reads.releaseReading(r)
		s.workers.reads[me] = underRead{first: maxKey} // reads may have been moved
		s.workers.idle++
		if s.handingOver {
			handOver(s)
		}
		s.wake()
	}()
	out = s.read(r, t, src, bound, of)
	if r != nil {
		r.turn.pass()
	}
}

// read opens a branch, or gives a leaf to the task.
func (s *scan) read(r *reading, t task, src source, bound int64, of allotment) (out outcome) {
	if r == nil {
		out.err = context.Cause(s.x.ctx)
		return out
	}
	r.stats = QueryStats{}
	if s.halted.Load() {
		return out
	}
	r.x, r.halted = s.x, &s.halted
	r.totals, _ = t.(summarizer)
	switch src := src.(type) {
	case branch:
		out.more = src.open(r, bound, out.add)
	case leaf:
		r.damage, r.unread = r.damage[:0], r.unread[:0]
		t.visit(r, src, bound, of, &out)
		r.countColumns()
		for _, err := range r.damage {
			out.add(err)
		}
		clear(r.damage)
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

// publish takes in the outcome of reading a source. mu is held.
func (s *scan) publish(o *outcome, bound int64) {
	if o.err != nil {
		s.fail(o.err)
	}
	for _, src := range o.more {
		s.push(src)
	}
	s.tell(o.damage)
	if f := o.results; f != nil {
		g := s.x.grant
		g.held += f.bytes()
		g.wanted = min(g.wanted, s.x.key(f.first().time))
		s.inbox.merge.push(f)
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
	if o.kept != nil {
		s.kept = append(s.kept, o.kept)
	}
	if s.x.grant.parked {
		s.park()
	}
}

// wake wakes the consumer and workers that can go on. mu is held.
func (s *scan) wake() {
	if g := s.x.grant; g.waiting && (len(s.inbox.damage) > 0 || s.frontier() > g.wanted || s.drained()) {
		s.inbox.progress.Signal()
	}
	s.startWorker()
	if len(s.queue.Items) > 0 {
		s.workers.ready.Signal()
	}
}
