// Package sharedsync lets concurrent callers share a sync of the same directory. It
// is like singleflight, but a call never takes the result of one that began before.
package sharedsync

import "sync"

// A Group shares syncs among callers that need the same directory synced.
//
// A sync counts for a caller only if it began after the caller's changes. So
// callers that come during a sync wait for the next one, which one of them runs for
// all. That no two syncs of a directory run at once also suits btrfs; see package
// mkdir.
type Group[K comparable] struct {
	mu  sync.Mutex
	now map[K]*flight // the running sync, by directory
}

type flight struct {
	done chan struct{} // closed when err is set
	err  error
	next *flight // begins after this one
}

// Do runs sync for the directory dir, or waits for one that began after the call,
// and returns its error.
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
		<-cur.done // cur has put mine into f.now
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
