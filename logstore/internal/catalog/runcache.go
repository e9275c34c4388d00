package catalog

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/maypok86/otter/v2"

	"github.com/stele-go/stele/logstore/internal/segment"
)

// A runKey is a stream of a segment, by the segment's id, which is never used
// again, and the stream's place in it.
type runKey struct {
	segment uint64
	ordinal uint32
}

// A runCache keeps the decoded run lists of segments within a number of bytes.
// Its policy is W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions on
// Storage 2017), so that a scan does not evict the lists that are asked for
// again and again.
type runCache struct {
	cache        *otter.Cache[runKey, []segment.Run]
	hits, misses atomic.Int64
}

// cacheOverhead is about what the cache itself takes for a list, in bytes.
const cacheOverhead = 160

func newRunCache(bytes int64) *runCache {
	return &runCache{cache: otter.Must(&otter.Options[runKey, []segment.Run]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher: func(_ runKey, runs []segment.Run) uint32 {
			return uint32(min(cacheOverhead+int64(cap(runs))*int64(unsafe.Sizeof(segment.Run{})), 1<<32-1))
		},
		Executor: func(f func()) { f() }, // no goroutines of its own
	})}
}

// get returns the list of k. It calls load, once for all concurrent callers,
// where the cache does not have it. Errors are not kept.
func (c *runCache) get(k runKey, load func() ([]segment.Run, error)) ([]segment.Run, error) {
	if runs, ok := c.cache.GetIfPresent(k); ok {
		c.hits.Add(1)
		return runs, nil
	}
	c.misses.Add(1)
	return c.cache.Get(context.Background(), k, otter.LoaderFunc[runKey, []segment.Run](
		func(context.Context, runKey) ([]segment.Run, error) { return load() }))
}

// drop forgets the lists of a segment. One that is being loaded may be kept: it
// is not asked for any more, and evicted in time.
func (c *runCache) drop(segment uint64) {
	for k := range c.cache.Keys() {
		if k.segment == segment {
			c.cache.Invalidate(k)
		}
	}
}

func (c *runCache) bytes() int64 { return int64(c.cache.WeightedSize()) }

func (c *runCache) close() {
	c.cache.InvalidateAll()
	c.cache.StopAllGoroutines()
}
