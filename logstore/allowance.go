package logstore

import (
	"sync"
	"sync/atomic"
	"time"
)

// An allowance is the memory for what a search sums up, until the search ends.
// Results can wait for more memory, as consumers free it. Sums only grow: two
// searches that waited for each other's memory would wait for ever. So nothing
// waits for this memory; idle scans give up theirs.
type allowance struct {
	pool *readPool
	used atomic.Int64
	// allowed is what may be used. It begins with the first grant of the search,
	// which keeps no results then.
	allowed atomic.Int64

	mu    sync.Mutex
	taken int64 // of pool.memory
}

// allowanceStep is how much is taken of the pool at once.
const allowanceStep = 256 << 10

func (a *allowance) begin(r *readPool) {
	a.pool = r
	a.allowed.Store(r.minBytes)
}

// charge counts memory. The error is a *LimitError or a *BusyError.
func (a *allowance) charge(bytes int64) error {
	used := a.used.Add(bytes)
	if used <= a.allowed.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if used > a.pool.sumBytes {
		return &LimitError{Limit: "an eighth of Options.Memory", Value: a.pool.sumBytes, What: "bytes of memory for what a query sums up"}
	}
	for missing := used - a.allowed.Load(); missing > 0; missing = used - a.allowed.Load() {
		wish := min(max(missing, allowanceStep), a.pool.sumBytes-a.allowed.Load())
		n := a.pool.memory.TryAcquire(wish, 0)
		if n == 0 {
			a.pool.tryParkIdle(time.Now())
			n = a.pool.memory.TryAcquire(wish, 0)
		}
		if n == 0 {
			return a.pool.busy(missing)
		}
		a.taken += n
		a.allowed.Add(n)
	}
	return nil
}

// end gives the memory back.
func (a *allowance) end() {
	a.pool.memory.Release(a.taken)
	a.taken = 0
}
