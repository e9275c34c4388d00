// Package metacache keeps in memory what was decoded of immutable files, such
// as the index of a segment, within a number of bytes.
//
// It has two levels. New values go into the first, which is guarded by
// frequency: W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions on
// Storage 2017; package otter), where a scan does not drive out what is asked
// for again and again. What falls out there goes into the second, which is
// guarded by recency, a plain LRU; asked for again it goes back into the first.
// Where the hot set stays, frequency is right, and where it keeps changing,
// recency is. So both are run in miniature over a sample of the keys (Waldspurger
// et al., Cache Modeling and Optimization using Miniature Simulations, USENIX
// ATC 2017), and the one that finds more gets more of the bytes.
//
// It is a variant of claim L9. The log store uses package otter alone: on the
// store's own lookups that hits as often or more, in the same bytes, without a
// second level.
//
// # Mistakes to avoid
//
//   - Changing a value that came out of the cache: others read it.
//   - Using a segment's id again for another file. Old values of the same version
//     would be returned.
//   - A cost that leaves out what the value points to. The limit is on the sum of
//     what cost says, and on nothing else.
//   - Leaving out Close, which frees the memory.
package metacache

import (
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// A Key is a part of a file.
type Key struct {
	Segment uint64 // id of the file; one that was used must not be used for another file
	Part    uint32
}

// Overhead is what the cache itself takes for a value, in bytes: the node and
// the slot of a level, the value's head, and its share of the samples.
const Overhead = 160

// A Cache holds values, which nobody may change. It may be used by many
// goroutines at once.
type Cache[V any] struct {
	bytes    int64
	cost     func(V) int
	frequent *otter.Cache[Key, *kept[V]]
	recent   *recent[V]
	flights  flights[V]
	tuner    *tuner
	closed   atomic.Bool
	resizing sync.Mutex // so that the two levels get what belongs together

	hits, byRecency, misses, stale, loads, evicted atomic.Int64
}

// A kept is a value in the cache. It is never changed.
type kept[V any] struct {
	key     Key
	version uint64
	value   V
	cost    int64
}

// Stats are figures of a cache. They only grow, but for the last three.
type Stats struct {
	Hits, Misses  int64
	HitsByRecency int64 // of Hits those that only the second level had
	Stale         int64 // of Misses those where the version was another one
	Loads         int64 // calls of load: fewer than Misses where many missed at once
	Evicted       int64 // values dropped for lack of room

	Bytes, Entries int64
	RecencyBytes   int64 // how many of all bytes the second level may have
}

// New returns a cache of at most bytes: the sum of what cost says of its
// values, and of Overhead for each. While room moves from one level to the
// other it may for a moment be a quarter more. A value that does not fit is not
// kept. Close the cache.
func New[V any](bytes int64, cost func(V) int) *Cache[V] {
	bytes = max(bytes, 1)
	c := &Cache[V]{bytes: bytes, cost: cost, tuner: newTuner(bytes)}
	c.recent = newRecent[V](c.tuner.recency(bytes))
	c.frequent = newFrequent(bytes-c.recent.max, func(k *kept[V]) { c.evicted.Add(int64(c.recent.put(k))) })
	return c
}

// newFrequent makes the first level. evicted is given what falls out.
func newFrequent[V any](bytes int64, evicted func(*kept[V])) *otter.Cache[Key, *kept[V]] {
	return otter.Must(&otter.Options[Key, *kept[V]]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(_ Key, k *kept[V]) uint32 { return uint32(min(k.cost, 1<<32-1)) },
		// What falls out is at once in the other level, or gone. This runs under
		// the lock of otter's policy: evicted must not use the cache.
		Executor: func(f func()) { f() },
		OnDeletion: func(e otter.DeletionEvent[Key, *kept[V]]) {
			if e.Cause == otter.CauseOverflow {
				evicted(e.Value)
			}
		},
	})
}

// Get returns the value under the key, if its version is this one. Else load
// is called, once for all who ask at the same time, and what it returns is kept
// in the place of a lower version. An error of load goes to all who asked, and
// is not kept.
func (c *Cache[V]) Get(k Key, version uint64, load func() (V, error)) (V, error) {
	if c.closed.Load() {
		c.misses.Add(1)
		c.loads.Add(1)
		return load()
	}
	if found := c.find(k, version); found != nil {
		c.sample(k, found.cost)
		return found.value, nil
	}
	return c.flights.do(flight{k, version}, func() *kept[V] { return c.peek(k, version) }, func() (V, error) {
		c.loads.Add(1)
		v, err := load()
		if err == nil {
			c.keep(&kept[V]{k, version, v, int64(max(c.cost(v), 0)) + Overhead})
		}
		return v, err
	})
}

// find looks into both levels.
func (c *Cache[V]) find(k Key, version uint64) *kept[V] {
	first, inFirst := c.frequent.GetIfPresent(k)
	if inFirst && first.version == version {
		c.hits.Add(1)
		return first
	}
	second, stale := c.recent.take(k, version)
	if second == nil {
		c.misses.Add(1)
		if inFirst || stale {
			c.stale.Add(1)
		}
		return nil
	}
	c.hits.Add(1)
	c.byRecency.Add(1)
	if !inFirst || first.version < version {
		c.frequent.Set(k, second)
	}
	return second
}

// peek looks whether another has brought the value since find.
func (c *Cache[V]) peek(k Key, version uint64) *kept[V] {
	if e, ok := c.frequent.GetEntryQuietly(k); ok && e.Value.version == version {
		return e.Value
	}
	return nil
}

func (c *Cache[V]) keep(k *kept[V]) {
	if e, ok := c.frequent.GetEntryQuietly(k.key); ok && e.Value.version > k.version {
		return // asked for by a reader of the past
	}
	if c.closed.Load() {
		return
	}
	c.frequent.Set(k.key, k)
	c.sample(k.key, k.cost)
}

// sample shows a request to the tuner, and does what it advises.
func (c *Cache[V]) sample(k Key, cost int64) {
	if c.tuner.wants(k) && c.tuner.see(k, cost) {
		c.resize()
	}
}

func (c *Cache[V]) resize() {
	c.resizing.Lock()
	defer c.resizing.Unlock()
	recency := c.tuner.recency(c.bytes)
	c.evicted.Add(int64(c.recent.resize(recency)))
	c.frequent.SetMaximum(uint64(max(c.bytes-recency, 1)))
}

// Drop forgets all of these segments, in one pass over the cache. What is being
// loaded meanwhile may be kept; like all that nobody asks for, it goes in time.
func (c *Cache[V]) Drop(segments ...uint64) {
	drop := make(map[uint64]bool, len(segments))
	for _, s := range segments {
		drop[s] = true
	}
	for k := range c.frequent.Keys() {
		if drop[k.Segment] {
			c.frequent.Invalidate(k)
		}
	}
	c.recent.drop(func(k Key) bool { return drop[k.Segment] })
}

// Stats returns the figures of now.
func (c *Cache[V]) Stats() Stats {
	bytes, entries, most := c.recent.size()
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), HitsByRecency: c.byRecency.Load(),
		Stale: c.stale.Load(), Loads: c.loads.Load(), Evicted: c.evicted.Load(),
		Bytes:        int64(c.frequent.WeightedSize()) + bytes,
		Entries:      int64(c.frequent.EstimatedSize()) + entries,
		RecencyBytes: most,
	}
}

// Close frees the memory. Get loads from then on and keeps nothing.
func (c *Cache[V]) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.frequent.InvalidateAll()
	c.frequent.StopAllGoroutines()
	c.recent.drop(func(Key) bool { return true })
	c.tuner.close()
}
