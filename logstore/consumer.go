package logstore

import (
	"context"
	"math"
	"sync"
)

// An inbox is what workers have for the consumer. The mutex of the scan guards
// it.
type inbox struct {
	progress sync.Cond
	ready    []*results
	damage   []error // not yet reported
}

// A consumer is the one goroutine that a scan works for.
//
// It yields the next row of all results once the frontier is beyond its key:
// then neither a source in the queue nor one that a worker reads can have an
// entry that comes before it, or one with the same time that would have to be
// compared with it. So, while it waits, it is woken when the frontier passes the
// key that it wants, when nothing is left to be read, when there is damage to
// report, and when the scan ends. New results may have an earlier row; they lower
// the wanted key as they are published.
type consumer struct {
	scan    *scan
	yield   func(Result, error) bool
	stopped bool // yield returned false
	merge   merger
	left    int    // entries to be yielded
	last    Labels // the last metadata: they are often the same again
}

func newConsumer(s *scan, yield func(Result, error) bool) *consumer {
	c := &consumer{scan: s, yield: yield, merge: newMerger(s.x.backward), left: s.x.limit}
	if c.left == 0 {
		c.left = math.MaxInt
	}
	return c
}

// drain waits until all sources were read, and reports damage.
func (c *consumer) drain() error {
	s := c.scan
	for {
		s.mu.Lock()
		for s.end.err == nil && len(s.inbox.damage) == 0 && !s.drained() {
			c.wait(maxKey)
		}
		err, damage, over := s.end.err, s.inbox.damage, s.drained()
		s.inbox.damage = nil
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !c.report(damage) || over {
			return nil
		}
	}
}

// entries yields all entries, in order.
func (c *consumer) entries() error {
	for {
		frontier, damage, over, err := c.receive()
		if err != nil {
			return err
		}
		if !c.report(damage) {
			return nil
		}
		if err := c.yieldBefore(frontier); err != nil || c.stopped || c.left == 0 {
			return err
		}
		if over && c.merge.next() == maxKey {
			return nil
		}
	}
}

// receive waits until a row can be yielded, there is damage, or all was read.
// Rows with keys below the frontier can be yielded.
func (c *consumer) receive() (frontier int64, damage []error, over bool, err error) {
	s := c.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for _, f := range s.inbox.ready {
			c.merge.push(f)
		}
		clear(s.inbox.ready)
		s.inbox.ready = s.inbox.ready[:0]
		frontier = s.frontier()
		if s.end.err != nil || len(s.inbox.damage) > 0 || s.drained() {
			break
		}
		next := c.merge.next()
		if next < frontier {
			break
		}
		c.wait(next)
	}
	damage, s.inbox.damage = s.inbox.damage, nil
	return frontier, damage, s.drained(), s.end.err
}

// wait blocks the consumer, which needs all entries up to wanted, until
// something has changed for it. mu is held.
func (c *consumer) wait(wanted int64) {
	s, g := c.scan, c.scan.x.grant
	s.startWorker()
	g.waiting, g.wanted = true, wanted
	s.workers.ready.Broadcast()
	s.inbox.progress.Wait()
	g.waiting = false
}

// report yields damage, and returns whether the consumer goes on.
func (c *consumer) report(damage []error) bool {
	for _, err := range damage {
		if !c.yield(Result{}, err) {
			c.stopped = true
			return false
		}
	}
	return true
}

// yieldBefore yields the rows with keys below the frontier.
func (c *consumer) yieldBefore(frontier int64) error {
	ctx := c.scan.x.ctx
	for c.merge.next() < frontier {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !c.yieldFirst(c.merge.top()) {
			return nil
		}
		if empty := c.merge.advance(); empty != nil {
			c.free(empty)
		}
	}
	return nil
}

// yieldFirst yields the first row of f, and reports whether to go on.
func (c *consumer) yieldFirst(f *results) bool {
	r := f.first()
	p := f.data[r.off:]
	line, meta := p[:r.line:r.line], p[r.line:r.line+r.meta]
	if string(meta) != c.last.enc {
		var err error
		if c.last, err = parseLabels(string(meta)); err != nil {
			if f.leaf != nil {
				err = f.leaf.corrupt(err)
			}
			return c.report([]error{err})
		}
	}
	if !c.yield(Result{f.streams[r.stream].labels, Entry{r.time, line, c.last}}, nil) {
		c.stopped = true
		return false
	}
	c.left--
	return c.left > 0
}

// free releases the memory of yielded results.
func (c *consumer) free(f *results) {
	s := c.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	s.x.grant.held -= f.bytes()
	s.x.store.reads.results.put(f)
	if len(s.queue.Items) > 0 {
		s.workers.ready.Signal()
	}
}
