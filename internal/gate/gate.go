// Package gate closes something once its last user has left.
package gate

import "sync/atomic"

// A Gate counts the users of something, so that it can be released when the last
// one has left. It is not a sync.RWMutex, whose waiting writer blocks a reader that
// enters a second time.
//
// The zero Gate is closed.
type Gate struct {
	users  atomic.Int64 // plus gateOpen from Open to Close
	closed atomic.Bool
	empty  chan struct{} // of capacity 1; receives when the last user has left
}

const gateOpen = 1 << 40

// Open opens the gate. It is called once, before any other method.
func (g *Gate) Open() {
	g.empty = make(chan struct{}, 1)
	g.users.Store(gateOpen)
}

// Enter reports whether the gate is open. If so, the caller must call Leave.
func (g *Gate) Enter() bool {
	if g.users.Add(1) > gateOpen {
		return true
	}
	g.Leave()
	return false
}

// Leave undoes one Enter.
func (g *Gate) Leave() {
	if g.users.Add(-1) == 0 {
		select {
		case g.empty <- struct{}{}:
		default: // an Enter that was refused has sent already
		}
	}
}

// Close closes the gate and waits until all users have left. It reports whether it
// is the first Close; a later one does not wait.
func (g *Gate) Close() bool {
	if !g.closed.CompareAndSwap(false, true) {
		return false
	}
	if g.users.Add(-gateOpen) != 0 {
		<-g.empty
	}
	return true
}
