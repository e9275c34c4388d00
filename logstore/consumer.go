package logstore

import (
	"context"
	"math"
	"sync"
	"time"
)

// An inbox is what workers have for the consumer. The mutex of the scan guards
// it.
type inbox struct {
	progress sync.Cond
	merge    merger  // of what was found
	damage   []error // not yet reported
	left     int     // entries that the consumer has not taken yet

	away  bool // the consumer is with its caller, and touches nothing of the scan
	idle  idleness
	taken takenRow // the last row that the consumer took
}

// A consumer is the one goroutine that a scan works for.
//
// It takes the next row of all results once the frontier is beyond its key:
// then neither a source in the queue nor one that a worker reads can have an
// entry that comes before it, or one with the same time that would have to be
// compared with it. So, while it waits, it is woken when the frontier passes the
// key that it wants, when nothing is left to be read, when there is damage to
// report, and when the scan ends. New results may have an earlier row; they lower
// the wanted key as they are published.
//
// It copies some rows at once, and then yields them: while its caller has an
// entry, nothing else of the scan is in use, and the scan may be parked.
type consumer struct {
	scan    *scan
	yield   func(Result, error) bool
	stopped bool         // yield returned false
	batch   *resultBatch // nil: none yet
	lost    int          // entries of the batch that could not be yielded
	last    Labels       // the last metadata: they are often the same again
}

func newConsumer(s *scan, yield func(Result, error) bool) *consumer {
	s.inbox.left = s.x.limit
	if s.inbox.left == 0 {
		s.inbox.left = math.MaxInt
	}
	return &consumer{scan: s, yield: yield}
}

// end gives back what the consumer keeps for its batches.
func (c *consumer) end() {
	if c.batch != nil {
		c.batch.forget()
		c.scan.x.store.reads.batches.Put(c.batch)
		c.batch = nil
	}
}

// enter locks the scan, unless it returns an error. A parked scan waits for
// memory first.
func (c *consumer) enter() error {
	s := c.scan
	s.mu.Lock()
	in := &s.inbox
	in.away = false
	in.left += c.lost
	c.lost = 0
	if !s.x.grant.parked {
		return nil
	}
	s.mu.Unlock()
	waited, err := s.x.store.reads.acquire(s.x.ctx, s.x.store.reads.minBytes)
	s.mu.Lock()
	s.x.stats.Waited += waited
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.unpark()
	return nil
}

// leave ends what enter began.
func (c *consumer) leave() {
	in := &c.scan.inbox
	in.away, in.idle.since = true, time.Now()
	c.scan.mu.Unlock()
}

// drain waits until all sources were read. Damage stays in the inbox: a caller that
// it is yielded to may take its time.
func (c *consumer) drain() error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	s := c.scan
	for s.end.err == nil && !s.drained() {
		c.wait(maxKey)
	}
	return s.end.err
}

// entries yields all entries, in order.
func (c *consumer) entries() error {
	for {
		damage, over, err := c.receive()
		if err != nil {
			return err
		}
		if !c.report(damage) {
			return nil
		}
		if err := c.yieldBatch(); err != nil || c.stopped || over && c.lost == 0 {
			return err
		}
	}
}

// receive waits until rows can be yielded, there is damage, or all was read. It
// leaves rows in the batch. over reports that no more follow.
func (c *consumer) receive() (damage []error, over bool, err error) {
	if err := c.enter(); err != nil {
		return nil, false, err
	}
	defer c.leave()
	s := c.scan
	in := &s.inbox
	for s.end.err == nil {
		c.take(s.frontier())
		over = in.left == 0 || s.drained() && in.merge.next() == maxKey
		if over || c.batch.n > 0 || len(in.damage) > 0 {
			break
		}
		c.wait(in.merge.next())
	}
	damage, in.damage = in.damage, nil
	return damage, over, s.end.err
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

// take moves rows with keys below the frontier to the batch. mu is held.
func (c *consumer) take(frontier int64) {
	s := c.scan
	in := &s.inbox
	freed := false
	if c.batch == nil {
		c.batch, _ = s.x.store.reads.batches.Get().(*resultBatch)
	}
	if c.batch == nil {
		c.batch = new(resultBatch)
	}
	c.batch.reset()
	for in.left > 0 && in.merge.next() < frontier && !c.batch.isFull() {
		f, n := in.merge.run(frontier, min(in.left, c.batch.room()))
		n = c.batch.add(s.x.store.names, f, n)
		in.taken.set(f, n, c.batch.rows[c.batch.n-1].labels)
		in.left -= n
		if empty := in.merge.advance(n); empty != nil {
			s.x.grant.held -= empty.bytes()
			s.x.store.reads.results.put(empty)
			freed = true
		}
	}
	if freed && len(s.queue.Items) > 0 {
		s.workers.ready.Signal()
	}
}

// yieldBatch yields the rows of the batch.
func (c *consumer) yieldBatch() error {
	ctx := c.scan.x.ctx
	for i := range c.batch.n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !c.yieldRow(i) {
			return nil
		}
	}
	return nil
}

// yieldRow yields the i-th row of the batch, and reports whether to go on.
func (c *consumer) yieldRow(i int) bool {
	r := &c.batch.rows[i]
	line, meta := c.batch.text(r)
	if string(meta) != c.last.enc {
		var err error
		if c.last, err = parseLabels(string(meta)); err != nil {
			c.lost++
			return c.report([]error{c.batch.parts[r.part].damaged(err)})
		}
	}
	if !c.yield(Result{r.labels, Entry{r.time, line, c.last}, c.batch.id(i)}, nil) {
		c.stopped = true
	}
	return !c.stopped
}
