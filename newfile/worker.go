package newfile

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A worker takes batches of requests out of the queue and answers them. The one
// that holds popToken pops.
type worker struct {
	*Queue
	created []answer // not yet durable
}

// An answer is a request with its file.
type answer struct {
	request
	file *os.File
}

// run answers requests until the queue is closed and empty.
func (q *worker) run() {
	batch := make([]request, q.batch)
	holding := false
	for {
		if !holding {
			<-q.popToken
		}
		n, err := q.pop(batch)
		// Without a sync one request takes less time than waking another worker.
		holding = err == nil && n == 1 && !q.d.power
		if !holding {
			q.popToken <- struct{}{}
		}
		if err != nil {
			return // closed and empty
		}
		q.batches.Add(1)
		timer := q.drains.Start()
		for _, r := range batch[:n] {
			f, err := q.create(r)
			if err == nil && q.d.power {
				q.created = append(q.created, answer{r, f})
			} else {
				q.answer(r, f, err)
			}
		}
		q.syncCreated()
		timer.Stop()
		q.busy.Add(-1)
		clear(batch[:n]) // so that the batch keeps nothing alive
	}
}

// pop takes the next batch out of the queue. From then on the worker is busy.
func (q *worker) pop(batch []request) (int, error) {
	linger := q.linger
	if q.lingerIfBusy {
		linger = 0
	}
	n, err := q.requests.PopBatch(context.Background(), batch, linger)
	if err != nil {
		return 0, err
	}
	idle := q.busy.Add(1) == 1
	if !q.lingerIfBusy || idle || n == len(batch) {
		return n, nil
	}
	// The sync of this batch waits for those under way in any case: a journal
	// commits one transaction after the other.
	ctx, cancel := context.WithTimeout(context.Background(), q.linger)
	defer cancel()
	more, _ := q.requests.PopBatch(ctx, batch[n:], q.linger)
	return n + more, nil
}

const firstLimitWait, lastLimitWait = time.Millisecond, 100 * time.Millisecond

// create creates the file of r, and waits while there is no descriptor for it.
func (q *worker) create(r request) (*os.File, error) {
	for wait := firstLimitWait; ; wait = min(2*wait, lastLimitWait) {
		if r.ctx.Err() != nil {
			return nil, fail("create", r.at.path, ctxErr(r.ctx))
		}
		f, err := q.createNow(r)
		if err == nil || !isLimit(err) {
			return f, err
		}
		q.syncCreated() // so that these files may be closed
		q.limitWaits.Add(1)
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
		case <-q.closing:
			return nil, err
		}
	}
}

// createNow is create without waiting.
func (q *Queue) createNow(r request) (*os.File, error) {
	if err := q.d.acquire("create", r.at.path); err != nil {
		return nil, err
	}
	defer q.d.release()
	return q.d.create(r.at, r.perm, !r.touch)
}

// syncCreated makes the names of the created files durable, by one sync a
// directory, and answers their requests.
func (q *worker) syncCreated() {
	if len(q.created) == 0 {
		return
	}
	shards := make([]int, len(q.created))
	for i, a := range q.created {
		shards[i] = a.at.shard
	}
	slices.Sort(shards)
	shards = slices.Compact(shards)
	errs := q.syncAll(shards)
	for _, a := range q.created {
		i, _ := slices.BinarySearch(shards, a.at.shard)
		if errs[i] != nil && a.file != nil {
			a.file.Close() // nothing was written
			a.file = nil
		}
		q.answer(a.request, a.file, errs[i])
	}
	clear(q.created)
	q.created = q.created[:0]
}

// syncAll syncs several directories at once, so that they share a journal commit
// and a flush of the disk; at most maxWorkers, as each takes a descriptor.
func (q *Queue) syncAll(shards []int) []error {
	errs := make([]error, len(shards))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(shards)); i = next.Add(1) - 1 {
			errs[i] = q.sync(shards[i])
		}
	}
	var wg sync.WaitGroup
	for range min(len(shards), maxWorkers) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return errs
}

func (q *Queue) sync(shard int) error {
	if err := q.d.acquire("sync", q.d.shardPath(shard)); err != nil {
		return err
	}
	defer q.d.release()
	return q.d.syncShard(shard)
}

// answer answers r.
func (q *Queue) answer(r request, f *os.File, err error) {
	q.count(r, err)
	if r.call == nil {
		r.done(f, err)
		return
	}
	if r.call.state.CompareAndSwap(callWaits, callAnswered) {
		r.call.answer <- result{f, err}
		return
	}
	q.abandoned.Add(1)
	if f != nil {
		f.Close() // nothing was written
	}
}

func (q *Queue) count(r request, err error) {
	r.timer.Stop()
	q.answered.Add(1)
	if err != nil {
		q.failed.Add(1)
	}
}
