package metacache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loads counts what it loads.
type loads struct{ n atomic.Int64 }

func (l *loads) of(v int) func() (int, error) {
	return func() (int, error) { l.n.Add(1); return v, nil }
}

// get is Get, which must not fail.
func get(t *testing.T, c *Cache[int], k Key, version uint64, load func() (int, error)) int {
	t.Helper()
	v, err := c.Get(k, version, load)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGet(t *testing.T) {
	c := fresh(10_000)
	defer c.Close()
	var l loads
	a, b := Key{1, 0}, Key{1, 1}
	if v := get(t, c, a, 0, l.of(7)); v != 7 {
		t.Errorf("got %d", v)
	}
	if v := get(t, c, a, 0, l.of(8)); v != 7 {
		t.Errorf("the second time got %d", v)
	}
	if v := get(t, c, b, 0, l.of(9)); v != 9 {
		t.Errorf("another part: %d", v)
	}
	s := c.Stats()
	want := Stats{Hits: 1, Misses: 2, Loads: 2, Bytes: 2000, Entries: 2, RecencyBytes: s.RecencyBytes}
	if s != want || s.RecencyBytes != 1000 {
		t.Errorf("figures: %+v, want %+v and 1000 bytes for recency", s, want)
	}
}

// A value is only returned for its version. It replaces a lower version, and not a higher
// one.
func TestVersions(t *testing.T) {
	c := fresh(10_000)
	defer c.Close()
	var l loads
	k := Key{1, 0}
	for i, step := range []struct {
		version   uint64
		load, got int
	}{
		{5, 50, 50}, {5, 0, 50},
		{6, 60, 60}, {6, 0, 60}, // newer: kept
		{5, 51, 51}, {5, 52, 52}, // older: loaded, not kept
		{6, 0, 60},
	} {
		if v := get(t, c, k, step.version, l.of(step.load)); v != step.got {
			t.Errorf("step %d: %d, want %d", i, v, step.got)
		}
	}
	if s := c.Stats(); s.Stale != 3 || s.Misses != 4 || s.Entries != 1 {
		t.Errorf("figures: %+v", s)
	}
}

func TestVersionsInRecency(t *testing.T) {
	r := newRecent[int](1000)
	k := Key{1, 0}
	r.put(&kept[int]{k, 5, 50, 10})
	if found, stale := r.take(k, 4); found != nil || !stale {
		t.Errorf("an older version: %v, %v", found, stale)
	}
	if found, _ := r.take(k, 5); found == nil || found.value != 50 {
		t.Errorf("asking for an older version has removed a newer one")
	}
	r.put(&kept[int]{k, 5, 50, 10})
	if found, stale := r.take(k, 6); found != nil || !stale {
		t.Errorf("a newer version: %v, %v", found, stale)
	}
	if cost, entries, _ := r.size(); cost != 0 || entries != 0 {
		t.Errorf("the old version is still there: %d bytes", cost)
	}
}

func TestErrorIsNotKept(t *testing.T) {
	c := fresh(10_000)
	defer c.Close()
	broken := errors.New("broken")
	if _, err := c.Get(Key{}, 0, func() (int, error) { return 0, broken }); err != broken {
		t.Errorf("error %v", err)
	}
	var l loads
	if v := get(t, c, Key{}, 0, l.of(3)); v != 3 {
		t.Errorf("after an error: %d", v)
	}
}

// The cache never exceeds its bytes, and a value evicted from the first level is found in
// the second.
func TestBytesAreBounded(t *testing.T) {
	const bytes = 50_000
	c := New[int](bytes, func(v int) int { return v })
	defer c.Close()
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 20_000 {
		size := rnd.IntN(2000)
		if i%100 == 0 {
			size = bytes + 1 // does not fit
		}
		if v := get(t, c, Key{Segment: rnd.Uint64N(200)}, 0, func() (int, error) { return size, nil }); v > 2000 && v != bytes+1 {
			t.Fatalf("got %d", v)
		}
		if s := c.Stats(); s.Bytes > bytes {
			t.Fatalf("%d bytes after %d requests, %d are allowed", s.Bytes, i, bytes)
		}
	}
	s := c.Stats()
	if s.HitsByRecency == 0 || s.Evicted == 0 || s.Bytes < bytes/2 || s.Hits+s.Misses != 20_000 || s.Loads != s.Misses {
		t.Errorf("figures: %+v", s)
	}
}

func TestDrop(t *testing.T) {
	c := fresh(100_000)
	defer c.Close()
	var l loads
	for seg := range uint64(10) {
		for part := range uint32(5) {
			get(t, c, Key{seg, part}, 0, l.of(1))
		}
	}
	c.recent.put(&kept[int]{key: Key{3, 77}, cost: 100})
	c.Drop(3, 4)
	if s := c.Stats(); s.Entries != 40 || s.Bytes != 40_000 {
		t.Errorf("after dropping 10 of 50: %+v", s)
	}
	before := l.n.Load()
	get(t, c, Key{3, 0}, 0, l.of(1))
	get(t, c, Key{5, 0}, 0, l.of(1))
	if got := l.n.Load() - before; got != 1 {
		t.Errorf("%d loads for a dropped value and one that was not", got)
	}
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	c := fresh(100_000)
	var l loads
	get(t, c, Key{}, 0, l.of(1))
	c.Close()
	c.Close()
	if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("a closed cache has %+v", s)
	}
	for range 2 {
		get(t, c, Key{}, 0, l.of(1))
	}
	if l.n.Load() != 3 || c.Stats().Entries != 0 {
		t.Errorf("a closed cache keeps values: %d loads", l.n.Load())
	}
	for end := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before there were %d", runtime.NumGoroutine(), before)
		}
	}
}

// Concurrent calls wait for one load.
func TestSingleFlight(t *testing.T) {
	c := fresh(100_000)
	defer c.Close()
	const readers = 16
	var l loads
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	load := func() (int, error) {
		l.n.Add(1)
		close(started)
		<-release
		return 5, nil
	}
	wg.Go(func() { get(t, c, Key{}, 1, load) })
	<-started
	for range readers {
		wg.Go(func() {
			if v := get(t, c, Key{}, 1, load); v != 5 {
				t.Errorf("got %d", v)
			}
		})
	}
	// Another version is another load, and does not wait.
	var other loads
	if v := get(t, c, Key{}, 0, other.of(6)); v != 6 {
		t.Errorf("another version: %d", v)
	}
	for c.Stats().Misses < readers+2 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	if l.n.Load() != 1 {
		t.Errorf("%d loads of one value", l.n.Load())
	}
}

// A panic of load reaches its caller. Calls that waited for it load again.
func TestPanickingLoad(t *testing.T) {
	c := fresh(100_000)
	defer c.Close()
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Get(Key{}, 0, func() (int, error) {
			close(started)
			<-release
			panic("broken")
		})
	})
	<-started
	var l loads
	wg.Go(func() {
		if v := get(t, c, Key{}, 0, l.of(4)); v != 4 {
			t.Errorf("got %d", v)
		}
	})
	for c.Stats().Misses < 2 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	if l.n.Load() != 1 {
		t.Errorf("%d loads", l.n.Load())
	}
}

// With many readers, new versions and dropped segments, a value is never that of another
// key or version.
func TestConcurrent(t *testing.T) {
	c := New[[3]uint64](20_000, func([3]uint64) int { return 100 })
	var version atomic.Uint64
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 2))
			for i := range 5000 {
				k := Key{rnd.Uint64N(20), rnd.Uint32N(20)}
				v := version.Load()
				if rnd.IntN(10) == 0 && v > 0 {
					v--
				}
				want := [3]uint64{k.Segment, uint64(k.Part), v}
				got, err := c.Get(k, v, func() ([3]uint64, error) {
					if rnd.IntN(20) == 0 {
						return [3]uint64{}, errors.New("now and then")
					}
					return want, nil
				})
				if err == nil && got != want {
					t.Errorf("asked for %v, got %v", want, got)
				}
				switch {
				case i%500 == 0:
					version.Add(1)
				case i%300 == 0:
					c.Drop(k.Segment)
				case i%100 == 0:
					// Bytes move between levels here.
					if s := c.Stats(); s.Bytes > 40_000 {
						t.Errorf("%d bytes", s.Bytes)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for _, share := range []int32{0, 5, 2, 4} {
			c.tuner.share.Store(share)
			c.resize()
		}
	})
	wg.Wait()
	c.Close()
	if s := c.Stats(); s.Entries != 0 {
		t.Errorf("after Close: %+v", s)
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		recent, frequent int
		want             int32
	}{{0, 0, 0}, {1, 0, 0}, {5, 0, 1}, {0, 5, -1}, {100, 90, 0}, {100, 50, 1}, {50, 100, -1}} {
		if got := advice(c.recent, c.frequent); got != c.want {
			t.Errorf("%d found only by recency, %d only by frequency: %d, want %d", c.recent, c.frequent, got, c.want)
		}
	}
}

// Bytes is the memory that the values really take, small ones too.
func TestOverhead(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 50_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the second one frees what earlier tests left with finalizers
	runtime.ReadMemStats(&before)
	c := New[int](1<<30, func(int) int { return 8 })
	for i := range n {
		get(t, c, Key{Segment: uint64(i)}, 0, func() (int, error) { return i, nil })
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := float64(after.HeapAlloc-before.HeapAlloc) / n
	said := float64(c.Stats().Bytes) / n
	c.Close()
	t.Logf("a value takes %.0f bytes, %.0f are counted", took, said)
	if took > said*1.25 {
		t.Errorf("a value takes %.0f bytes, %.0f are counted", took, said)
	}
}

func BenchmarkHit(b *testing.B) {
	c := fresh(1 << 24)
	defer c.Close()
	load := func() (int, error) { return 1, nil }
	for i := range 1000 {
		_, _ = c.Get(Key{Segment: uint64(i)}, 0, load)
	}
	b.Run("parallel=false", func(b *testing.B) {
		b.ReportAllocs()
		i := uint64(0)
		for b.Loop() {
			_, _ = c.Get(Key{Segment: i % 1000}, 0, load)
			i++
		}
	})
	b.Run("parallel=true", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for i := uint64(0); pb.Next(); i++ {
				_, _ = c.Get(Key{Segment: i % 1000}, 0, load)
			}
		})
	})
}

func BenchmarkMiss(b *testing.B) {
	c := fresh(1 << 20)
	defer c.Close()
	load := func() (int, error) { return 1, nil }
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		_, _ = c.Get(Key{Segment: i}, 0, load)
		i++
	}
}

func BenchmarkDrop(b *testing.B) {
	for _, n := range []int{1000, 30_000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			c := fresh(1 << 30)
			defer c.Close()
			for i := range n {
				_, _ = c.Get(Key{Segment: uint64(i)}, 0, func() (int, error) { return 1, nil })
			}
			for b.Loop() {
				c.Drop(1 << 50)
			}
		})
	}
}
