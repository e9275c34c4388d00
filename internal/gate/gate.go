package gate

import "sync/atomic"

// A Gate counts who uses something, so that it can be taken away once nobody
// does. It is not a sync.RWMutex, whose waiting writer would block a reader
// that is inside already and asks again.
//
// The zero Gate lets nobody in.
type Gate struct {
	users  atomic.Int64 // and opened until Close is called
	closed atomic.Bool
	empty  chan struct{} // one place; is sent to when the last user has left
}

const gateOpen = 1 << 40

// Open lets everyone in. It is called once, before all else.
func (g *Gate) Open() {
	g.empty = make(chan struct{}, 1)
	g.users.Store(gateOpen)
}

// Enter reports whether the gate is open; Leave must follow then.
func (g *Gate) Enter() bool {
	if g.users.Add(1) > gateOpen {
		return true
	}
	g.Leave()
	return false
}

// Leave takes back one Enter.
func (g *Gate) Leave() {
	if g.users.Add(-1) == 0 {
		select {
		case g.empty <- struct{}{}:
		default: // whoever was refused meanwhile has told before
		}
	}
}

// Close lets nobody in any more and waits until all have left. It reports
// whether it was the first.
func (g *Gate) Close() bool {
	if !g.closed.CompareAndSwap(false, true) {
		return false
	}
	if g.users.Add(-gateOpen) != 0 {
		<-g.empty
	}
	return true
}
