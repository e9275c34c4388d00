package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A testPart is a part of some bytes.
type testPart int64

func (p testPart) Weight() int64 { return int64(p) }

func key(n uint32) segment2.PartKey { return segment2.PartKey{Kind: segment2.RunsPart, Number: n} }

func (c *partCache) get(segment uint64, n uint32, load func() (testPart, error)) (testPart, error) {
	if p, ok := segment2.Present[testPart](c.of(segment), key(n)); ok {
		return p, nil
	}
	return segment2.Load(context.Background(), c.of(segment), key(n), func(context.Context) (testPart, error) { return load() })
}

func TestPartCacheLoadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPartCache(1 << 20)
		defer c.close()
		var loads atomic.Int64
		proceed := make(chan struct{})
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				p, err := c.get(1, 2, func() (testPart, error) {
					loads.Add(1)
					<-proceed
					return 3, nil
				})
				if err != nil || p != 3 {
					t.Errorf("%d, %v", p, err)
				}
			})
		}
		synctest.Wait() // all of them have missed
		close(proceed)
		callers.Wait()
		if loads.Load() != 1 || c.misses.Load() != 8 {
			t.Errorf("%d loads, %d misses; want 1 and 8", loads.Load(), c.misses.Load())
		}
		if _, err := c.get(1, 2, nil); err != nil || c.hits.Load() != 1 {
			t.Errorf("%d hits, %v; want 1", c.hits.Load(), err)
		}
	})
}

// What is intact of a damaged part comes with the error, and is not kept.
func TestPartCacheKeepsNoErrors(t *testing.T) {
	c := newPartCache(1 << 20)
	defer c.close()
	failure := errors.New("failed")
	if p, err := c.get(1, 0, func() (testPart, error) { return 7, failure }); err != failure || p != 7 {
		t.Errorf("%d, %v; want 7, %v", p, err, failure)
	}
	if p, err := c.get(1, 0, func() (testPart, error) { return 8, nil }); err != nil || p != 8 {
		t.Errorf("after a load that failed: %d, %v", p, err)
	}
}

// A caller whose context ends gives its load up, and another one, which waited for it,
// loads again.
func TestPartCacheOutlivesACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPartCache(1 << 20)
		defer c.close()
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := c.of(1).Load(ctx, key(1), func(ctx context.Context) (segment2.CachedPart, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the caller whose context ended: %v", err)
			}
		})
		synctest.Wait() // it loads
		callers.Go(func() {
			p, err := c.of(1).Load(t.Context(), key(1), func(context.Context) (segment2.CachedPart, error) { return testPart(5), nil })
			if err != nil || p != testPart(5) {
				t.Errorf("the other: %v, %v", p, err)
			}
		})
		synctest.Wait() // it waits
		cancel()
		callers.Wait()
	})
}

func TestPartCacheIsBounded(t *testing.T) {
	const limit = 64 << 10
	c := newPartCache(limit)
	defer c.close()
	for i := range uint32(10_000) {
		c.get(uint64(i%7), i, func() (testPart, error) { return 50, nil })
	}
	if n := c.bytes(); n == 0 || n > limit {
		t.Errorf("%d bytes; want 1 to %d", n, limit)
	}
}

func TestPartCacheDropsASegment(t *testing.T) {
	c := newPartCache(1 << 20)
	defer c.close()
	load := func() (testPart, error) { return 1, nil }
	for i := range uint32(10) {
		c.get(1, i, load)
		c.get(2, i, load)
	}
	c.drop(map[uint64]bool{1: true})
	c.misses.Store(0)
	for i := range uint32(10) {
		c.get(2, i, load)
	}
	if n := c.misses.Load(); n != 0 {
		t.Errorf("%d parts of another segment were dropped", n)
	}
	for i := range uint32(10) {
		c.get(1, i, load)
	}
	if n := c.misses.Load(); n != 10 {
		t.Errorf("%d of 10 parts of the dropped segment are dropped", n)
	}
}

// The cache lends a quarter of its memory at most, evicts for it, and has it back.
func TestPartCacheLends(t *testing.T) {
	const bound = 1 << 20
	c := newPartCache(bound)
	defer c.close()
	s := c.of(1)
	for n := range uint32(64) {
		c.get(1, n, func() (testPart, error) { return bound / 64, nil })
	}
	if n := s.Lendable(); n != bound/4 {
		t.Errorf("%d bytes to lend; want %d", n, bound/4)
	}
	if !s.Lend(bound/4) || s.Lend(1) || s.Lendable() != 0 {
		t.Errorf("lent a quarter: %d bytes to lend", s.Lendable())
	}
	if n := c.bytes(); n > bound {
		t.Errorf("%d bytes with what is lent; want at most %d", n, bound)
	}
	if n := s.Room(); n != bound/2 { // windows keep their size
		t.Errorf("room for %d bytes; want %d", n, bound/2)
	}
	s.Lend(-bound / 4)
	c.yield(bound / 2)
	if n := s.Lendable(); n != bound/8 {
		t.Errorf("%d bytes to lend of half the memory; want %d", n, bound/8)
	}
}
