package sharedsync

import "sync"

// SharedSync lets callers that need the same directory synced share one sync.
//
// A sync counts for a caller only if it began after what the caller wants
// durable was done.
// So whoever comes while one is under way waits for the next, which one of
// the waiting runs for all of them. That no two run at once is also what btrfs
// needs; see package mkdir.
type Group[K comparable] struct {
	mu  sync.Mutex
	now map[K]*flight // the one under way, by directory
}

type flight struct {
	done chan struct{} // closed when err is set
	err  error
	next *flight // waits until this one is done; nobody has begun it
}

// Do runs sync for the directory dir, or waits for one that began later than
// this call.
func (f *Group[K]) Do(dir K, sync func() error) error {
	f.mu.Lock()
	mine := &flight{done: make(chan struct{})}
	if cur := f.now[dir]; cur == nil {
		if f.now == nil {
			f.now = map[K]*flight{}
		}
		f.now[dir] = mine
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
		f.now[dir] = mine.next
	} else {
		delete(f.now, dir)
	}
	f.mu.Unlock()
	close(mine.done)
	return mine.err
}
