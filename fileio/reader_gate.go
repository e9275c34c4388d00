package fileio

import "sync/atomic"

// A gate counts who uses something, so that it can be taken away once nobody
// does. It is not a sync.RWMutex, whose waiting writer would block a reader
// that is inside already and asks again.
type gate struct {
	users  atomic.Int64 // less shut once close was called
	closed atomic.Bool
	empty  chan struct{} // one place; is sent to when the last user has left
}

const shut = 1 << 40

// enter reports whether the gate is open; leave must follow then.
func (g *gate) enter() bool {
	if g.users.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.users.Add(-1) == -shut {
		select {
		case g.empty <- struct{}{}:
		default: // whoever was refused meanwhile has told before
		}
	}
}

// close lets nobody in any more and waits until all have left. It reports
// whether it was the first.
func (g *gate) close() bool {
	if !g.closed.CompareAndSwap(false, true) {
		return false
	}
	if g.users.Add(-shut) != -shut {
		<-g.empty
	}
	return true
}
