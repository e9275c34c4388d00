package logstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stele-go/stele/logstore/internal/arena"
)

// Appends at full speed are delayed so that memory is not used up before the
// memtable is sealed; slower ones are not.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name  string
		gap   time.Duration // between appends of each
		slow  bool
		least int64 // that are used at the end
	}{
		{"as fast as they can", 0, true, 80 << 20},
		{"slower than sealing", 40 * time.Millisecond, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			const limit, all, each = 96 << 20, 48 << 20, 200 << 10
			p := newThrottle(limit, nil, func() {})
			p.take(all)
			p.sealStarted(all)
			sealed := make(chan struct{})
			var used int64 // when all was sealed
			go func() {    // 96 MiB/s
				for done := int64(0); done < all; done += 256 << 10 {
					time.Sleep(2600 * time.Microsecond)
					p.sealProgress(done)
				}
				time.Sleep(20 * time.Millisecond)
				used = p.used.Load()
				close(sealed)
				p.sealEnded()
				p.free(all)
			}()
			var longest time.Duration
			var mu sync.Mutex
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					for {
						select {
						case <-sealed:
							return
						default:
						}
						begun := time.Now()
						if err := p.reserve(t.Context(), reservation{arena: 3 * each}, func() error { return nil }); err != nil {
							t.Error(err)
							return
						}
						p.take(each)
						p.unreserve(3 * each)
						mu.Lock()
						longest = max(longest, time.Since(begun))
						mu.Unlock()
						time.Sleep(c.gap)
						if c.gap == 0 {
							time.Sleep(100 * time.Microsecond) // the write
						}
					}
				})
			}
			group.Wait()
			if n := p.blockedTotal.Load(); n > 4 { // one each, at the very end
				t.Errorf("%s: %d appends found no memory", c.name, n)
			}
			if longest > 25*time.Millisecond || !c.slow && longest > 0 {
				t.Errorf("%s: one waited for %s", c.name, longest)
			}
			if used < c.least || used > limit {
				t.Errorf("%s: %d MiB are used", c.name, used>>20)
			}
		})
	}
}

// While a seal has done nothing yet, as other work has the processors, and most memory is
// free, appends are not delayed.
func TestPaceOfAStarvedSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, all, each = 96 << 20, 44 << 20, 200 << 10
		p := newThrottle(limit, nil, func() {})
		p.take(all)
		p.sealStarted(all)
		for taken := 0; taken < 10<<20; taken += each { // 7 MB/s
			time.Sleep(28 * time.Millisecond)
			p.sealProgress(1)
			if err := p.reserve(t.Context(), reservation{arena: 3 * each}, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			p.take(each)
			p.unreserve(3 * each)
		}
		if d := time.Duration(p.delayed.Load()); d > 0 {
			t.Errorf("appends were delayed by %s", d)
		}
	})
}

// Appends are delayed although no memory was free when the seal began: what the appends of
// that moment had reserved, and did not take, would else be used up at once.
func TestPaceWhenNothingWasFree(t *testing.T) {
	for reserved, appends := range map[int64]int{0: 150, 60 << 20: 350} {
		synctest.Test(t, func(t *testing.T) {
			const limit, all, each = 96 << 20, 44 << 20, 200 << 10
			p := newThrottle(limit, nil, func() {})
			p.take(all)
			p.reserved.Add(reserved)
			if reserved == 0 {
				p.take(limit - all)
			}
			p.sealStarted(all)
			if reserved == 0 {
				p.take(-(limit - all) / 2)
			}
			p.unreserve(reserved)
			for range appends {
				if err := p.reserve(t.Context(), reservation{arena: 3 * each}, func() error { return nil }); err != nil {
					t.Fatal(err)
				}
				p.take(each / 2)
				p.unreserve(3 * each)
			}
			if d := time.Duration(p.delayed.Load()); d == 0 {
				t.Errorf("with %d MiB reserved no append was delayed", reserved>>20)
			}
		})
	}
}

func TestNoRoom(t *testing.T) {
	closed := make(chan struct{})
	var asked int
	p := newThrottle(32*arena.ChunkSize, closed, func() { asked++ })
	if p.usable != 30*arena.ChunkSize {
		t.Fatal(p.usable)
	}
	p.take(29 * arena.ChunkSize)
	fine := func() error { return nil }
	if err := p.reserve(context.Background(), reservation{arena.ChunkSize, 0}, fine); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.reserve(ctx, reservation{0, 1}, fine); !errors.Is(err, context.Canceled) || asked == 0 {
		t.Errorf("%v, %d times was asked for a seal", err, asked)
	}
	p.unreserve(arena.ChunkSize)
	if err := p.reserve(ctx, reservation{0, 1}, fine); err != nil {
		t.Error(err)
	}
	p.unreserve(1)
	close(closed)
	if err := p.reserve(context.Background(), reservation{2 * arena.ChunkSize, 0}, fine); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	p.free(22 * arena.ChunkSize)
	// More than there is, but it is the only one.
	if err := p.reserve(context.Background(), reservation{100 * arena.ChunkSize, 0}, fine); err != nil {
		t.Error(err)
	}
	if p.reserved.Load() != 100*arena.ChunkSize || p.waiting.Load() != 0 || p.blockedTotal.Load() != 2 {
		t.Errorf("claimed %d, waiting %d, %d stops", p.reserved.Load(), p.waiting.Load(), p.blockedTotal.Load())
	}
}
