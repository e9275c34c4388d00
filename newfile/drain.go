package newfile

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A drainer answers requests. One at a time takes some out of the queue: the
// one that holds the baton.
type drainer struct {
	*Queue
	made []answer // not yet durable
}

// answer is a request whose file is made.
type answer struct {
	request
	file *os.File
}

// run answers requests until the queue is closed and empty.
func (q *drainer) run() {
	batch := make([]request, q.batch)
	holding := false
	for {
		if !holding {
			<-q.baton
		}
		n, err := q.take(batch)
		// One request without a sync is done sooner than another drainer is
		// awake.
		holding = err == nil && n == 1 && !q.d.power
		if !holding {
			q.baton <- struct{}{}
		}
		if err != nil {
			return // closed, and nothing is left
		}
		q.batches.Add(1)
		timer := q.drains.Start()
		for _, r := range batch[:n] {
			f, err := q.make(r)
			if err == nil && q.d.power {
				q.made = append(q.made, answer{r, f})
			} else {
				q.answer(r, f, err)
			}
		}
		q.settle()
		timer.Stop()
		q.busy.Add(-1)
		clear(batch[:n]) // so that nothing is kept alive
	}
}

// take takes the next batch out of the queue, which counts as busy from then on.
func (q *drainer) take(batch []request) (int, error) {
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
	// The sync of this batch has to wait for those under way in any case: a
	// journal commits one transaction after the other.
	ctx, cancel := context.WithTimeout(context.Background(), q.linger)
	defer cancel()
	more, _ := q.requests.PopBatch(ctx, batch[n:], q.linger)
	return n + more, nil
}

const firstLimitWait, lastLimitWait = time.Millisecond, 100 * time.Millisecond

// make makes the file of r, and waits while there is no descriptor for it.
func (q *drainer) make(r request) (*os.File, error) {
	for wait := firstLimitWait; ; wait = min(2*wait, lastLimitWait) {
		if r.ctx.Err() != nil {
			return nil, fail("create", r.place.path, ctxErr(r.ctx))
		}
		f, err := q.makeNow(r)
		if err == nil || !isLimit(err) {
			return f, err
		}
		q.settle() // who gets these files may close them
		q.limitWaits.Add(1)
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
		case <-q.closing:
			return nil, err
		}
	}
}

func (q *Queue) makeNow(r request) (*os.File, error) {
	if err := q.d.acquire("create", r.place.path); err != nil {
		return nil, err
	}
	defer q.d.release()
	return q.d.make(r.place, r.perm, !r.touch)
}

// settle makes durable what was made, one sync a folder, and answers.
func (q *drainer) settle() {
	if len(q.made) == 0 {
		return
	}
	shards := make([]int, len(q.made))
	for i, a := range q.made {
		shards[i] = a.place.shard
	}
	slices.Sort(shards)
	shards = slices.Compact(shards)
	errs := q.syncAll(shards)
	for _, a := range q.made {
		i, _ := slices.BinarySearch(shards, a.place.shard)
		if errs[i] != nil && a.file != nil {
			a.file.Close() // nothing was written
			a.file = nil
		}
		q.answer(a.request, a.file, errs[i])
	}
	clear(q.made)
	q.made = q.made[:0]
}

// syncAll syncs several folders at once, so that a commit and a flush of the
// disk serve many, but not more than maxWorkers, as each takes a descriptor.
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

// answer gives r its one answer.
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
