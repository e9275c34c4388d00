package newfile

import "sync"

// flights lets callers that need the same folder synced share one sync.
//
// A sync counts for a caller only if it began after the caller's own file was made.
// So whoever comes while one is under way waits for the next, which one of
// the waiting runs for all of them.
type flights struct {
	mu  sync.Mutex
	now map[int]*flight // the one under way, by shard
}

type flight struct {
	done chan struct{} // closed when err is set
	err  error
	next *flight // waits until this one is done; nobody has begun it
}

// do runs sync for a shard, or waits for one that began later than
// this call.
func (f *flights) do(shard int, sync func() error) error {
	f.mu.Lock()
	mine := &flight{done: make(chan struct{})}
	if cur := f.now[shard]; cur == nil {
		if f.now == nil {
			f.now = map[int]*flight{}
		}
		f.now[shard] = mine
		f.mu.Unlock()
	} else if next := cur.next; next != nil {
		f.mu.Unlock()
		<-next.done
		return next.err
	} else {
		cur.next = mine
		f.mu.Unlock()
		<-cur.done // and cur has put mine in its place
	}

	mine.err = sync()

	f.mu.Lock()
	if mine.next != nil {
		f.now[shard] = mine.next
	} else {
		delete(f.now, shard)
	}
	f.mu.Unlock()
	close(mine.done)
	return mine.err
}
