package metacache

import "sync"

// A flight names a value that is being loaded.
type flight struct {
	key     Key
	version uint64
}

// flights are the loads under way.
type flights[V any] struct {
	mu sync.Mutex
	in map[flight]*call[V]
}

// A call is filled in before done is closed. landed is false if load panicked: then the
// goroutines that waited try again.
type call[V any] struct {
	done   chan struct{}
	landed bool
	value  V
	err    error
}

// do calls load, or waits for the goroutine that does. there returns the value if a load
// has just ended.
func (f *flights[V]) do(k flight, there func() *kept[V], load func() (V, error)) (V, error) {
	for {
		f.mu.Lock()
		c := f.in[k]
		if c == nil {
			break // mu stays locked
		}
		f.mu.Unlock()
		if <-c.done; c.landed {
			return c.value, c.err
		}
	}
	if e := there(); e != nil {
		f.mu.Unlock()
		return e.value, nil
	}
	c := &call[V]{done: make(chan struct{})}
	if f.in == nil {
		f.in = map[flight]*call[V]{}
	}
	f.in[k] = c
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.in, k)
		f.mu.Unlock()
		close(c.done)
	}()
	c.value, c.err = load()
	c.landed = true
	return c.value, c.err
}
