package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A partKey names a part of the index of a segment, by the segment's id, which
// is never used again.
type partKey struct {
	segment uint64
	part    segment2.PartKey
}

// A partCache keeps decoded parts of the indexes of segments within a number of
// bytes. Its policy is W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions
// on Storage 2017), so that a scan does not evict the parts that are asked for
// again and again.
type partCache struct {
	cache        *otter.Cache[partKey, segment2.CachedPart]
	hits, misses atomic.Int64

	bound  int64 // bytes, for parts and what else is known of segments
	mu     sync.Mutex
	others int64 // bytes of that
	most   int64 // bytes that the cache takes now, at most, with what it lends
	lent   int64 // bytes
	limit  int64 // that of cache: most without what it lends, or nearly so
}

// cacheOverhead is about what the cache itself takes for a part, in bytes.
const cacheOverhead = 160

func newPartCache(bytes int64) *partCache {
	return &partCache{bound: bytes, most: bytes, limit: bytes, cache: otter.Must(&otter.Options[partKey, segment2.CachedPart]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher: func(_ partKey, p segment2.CachedPart) uint32 {
			return uint32(min(cacheOverhead+p.Weight(), 1<<32-1))
		},
		Executor: func(f func()) { f() }, // no goroutines of its own
	})}
}

// minParts is the part of the bound that parts always have: a quarter.
const minParts = 4

// yield makes room for so many bytes more of what else is known of segments, or
// less.
func (c *partCache) yield(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others += bytes
	most := max(c.bound-c.others, c.bound/minParts)
	if changed := most - c.most; changed > c.bound/64 || changed < -c.bound/64 {
		c.most = most
		c.setLimit()
	}
}

// setLimit bounds the cache. mu is held.
func (c *partCache) setLimit() {
	limit := c.most - c.lent
	// A change is work for the cache.
	if changed := limit - c.limit; changed > c.bound/64 || changed < -c.bound/64 {
		c.limit = limit
		c.cache.SetMaximum(uint64(max(limit, 1)))
	}
}

// lendable returns how many bytes may be lent now: a quarter at most. mu is held.
func (c *partCache) lendable() int64 { return c.most/4 - c.lent }

// of returns the cache of one segment.
func (c *partCache) of(segment uint64) *segmentParts { return &segmentParts{c, segment} }

// drop forgets the parts of segments. One that is being loaded may be kept: it
// is not asked for any more, and evicted in time.
func (c *partCache) drop(segments map[uint64]bool) {
	if len(segments) == 0 {
		return
	}
	for k := range c.cache.Keys() {
		if segments[k.segment] {
			c.cache.Invalidate(k)
		}
	}
}

// bytes returns what the parts take, and what is lent.
func (c *partCache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.cache.WeightedSize()) + c.lent
}

func (c *partCache) close() {
	c.cache.InvalidateAll()
	c.cache.StopAllGoroutines()
}

// segmentParts is a segment2.Cache.
type segmentParts struct {
	cache   *partCache
	segment uint64
}

// Room returns half of what the cache may take now: two such parts stay.
func (s *segmentParts) Room() int64 {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.cache.most / 2
}

// Lendable returns how many bytes may be lent now.
func (s *segmentParts) Lendable() int64 {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.cache.lendable()
}

// Lend takes n bytes from the cache, or gives back -n. It reports false if there are not
// as many.
func (s *segmentParts) Lend(n int64) bool {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.lendable() && n > 0 {
		return false
	}
	c.lent += n
	c.setLimit()
	return true
}

func (s *segmentParts) Present(k segment2.PartKey) segment2.CachedPart {
	p, ok := s.cache.cache.GetIfPresent(partKey{s.segment, k})
	if ok {
		s.cache.hits.Add(1)
	}
	return p
}

// Load calls load once for all concurrent callers. Where the context of the one whose
// load it is ends, another one loads again.
func (s *segmentParts) Load(ctx context.Context, k segment2.PartKey, load func(context.Context) (segment2.CachedPart, error)) (segment2.CachedPart, error) {
	s.cache.misses.Add(1)
	p, err := s.cache.cache.Get(ctx, partKey{s.segment, k}, otter.LoaderFunc[partKey, segment2.CachedPart](
		func(ctx context.Context, _ partKey) (segment2.CachedPart, error) {
			p, err := load(ctx)
			if err != nil {
				return nil, &incomplete{p, err}
			}
			return p, nil
		}))
	if bad, ok := errors.AsType[*incomplete](err); ok {
		return bad.part, bad.err
	}
	return p, err
}

// An incomplete is a part that was loaded with an error, and so is not kept.
type incomplete struct {
	part segment2.CachedPart // or nil
	err  error
}

func (e *incomplete) Error() string { return e.err.Error() }
