package atomicfile

import "sync"

// A syncer lets callers share a sync of one directory.
//
// A sync counts for a caller only if it began after the caller's own rename.
// So whoever comes while one is under way waits for the next, which one of
// the waiting runs for all of them. That no two run at once is also what
// btrfs needs (see package mkdir).
type syncer struct {
	mu  sync.Mutex
	now *flight // the one under way
}

type flight struct {
	done chan struct{} // closed when err is set
	err  error
	next *flight // waits until this one is done; nobody has begun it
}

// do runs sync, or waits for one that began later than this call.
func (s *syncer) do(sync func() error) error {
	s.mu.Lock()
	mine := &flight{done: make(chan struct{})}
	if cur := s.now; cur == nil {
		s.now = mine
		s.mu.Unlock()
	} else if next := cur.next; next != nil {
		s.mu.Unlock()
		<-next.done
		return next.err
	} else {
		cur.next = mine
		s.mu.Unlock()
		<-cur.done // and cur has put mine in its place
	}

	mine.err = sync()

	s.mu.Lock()
	s.now = mine.next
	s.mu.Unlock()
	close(mine.done)
	return mine.err
}
