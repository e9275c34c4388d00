package catalog

import "sync/atomic"

// A refCount counts references. Once it is 0 it stays 0.
type refCount struct{ atomic.Int64 }

// tryAdd adds a reference, unless the last one was released.
func (r *refCount) tryAdd() bool {
	for {
		n := r.Load()
		if n == 0 {
			return false
		}
		if r.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
