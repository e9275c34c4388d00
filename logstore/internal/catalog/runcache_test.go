package catalog

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stele-go/stele/logstore/internal/segment"
)

func runList(n int) []segment.Run { return make([]segment.Run, n) }

func TestRunCacheLoadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRunCache(1 << 20)
		defer c.close()
		var loads atomic.Int64
		proceed := make(chan struct{})
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				runs, err := c.get(runKey{1, 2}, func() ([]segment.Run, error) {
					loads.Add(1)
					<-proceed
					return runList(3), nil
				})
				if err != nil || len(runs) != 3 {
					t.Errorf("%d runs, %v", len(runs), err)
				}
			})
		}
		synctest.Wait() // all of them have missed
		close(proceed)
		callers.Wait()
		if loads.Load() != 1 || c.misses.Load() != 8 {
			t.Errorf("%d loads, %d misses; want 1 and 8", loads.Load(), c.misses.Load())
		}
		if _, err := c.get(runKey{1, 2}, nil); err != nil || c.hits.Load() != 1 {
			t.Errorf("%d hits, %v; want 1", c.hits.Load(), err)
		}
	})
}

func TestRunCacheKeepsNoErrors(t *testing.T) {
	c := newRunCache(1 << 20)
	defer c.close()
	failure := errors.New("failed")
	if _, err := c.get(runKey{}, func() ([]segment.Run, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("%v; want %v", err, failure)
	}
	if runs, err := c.get(runKey{}, func() ([]segment.Run, error) { return runList(1), nil }); err != nil || len(runs) != 1 {
		t.Errorf("after a load that failed: %d runs, %v", len(runs), err)
	}
}

func TestRunCacheIsBounded(t *testing.T) {
	const limit = 64 << 10
	c := newRunCache(limit)
	defer c.close()
	for i := range uint32(10_000) {
		c.get(runKey{uint64(i % 7), i}, func() ([]segment.Run, error) { return runList(1), nil })
	}
	if n := c.bytes(); n == 0 || n > limit {
		t.Errorf("%d bytes; want 1 to %d", n, limit)
	}
}

func TestRunCacheDropsASegment(t *testing.T) {
	c := newRunCache(1 << 20)
	defer c.close()
	load := func() ([]segment.Run, error) { return runList(1), nil }
	for i := range uint32(10) {
		c.get(runKey{1, i}, load)
		c.get(runKey{2, i}, load)
	}
	c.drop(1)
	c.misses.Store(0)
	for i := range uint32(10) {
		c.get(runKey{2, i}, load)
	}
	if n := c.misses.Load(); n != 0 {
		t.Errorf("%d lists of another segment were dropped", n)
	}
	for i := range uint32(10) {
		c.get(runKey{1, i}, load)
	}
	if n := c.misses.Load(); n != 10 {
		t.Errorf("%d of 10 lists of the dropped segment are dropped", n)
	}
}
