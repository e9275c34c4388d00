package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The shares add up to Options.Memory, whatever it is.
func TestShares(t *testing.T) {
	parts := int64(0)
	for _, s := range shares {
		parts += s.parts
	}
	if parts != wholeMemory {
		t.Fatalf("the shares have %d parts of %d", parts, wholeMemory)
	}
	for _, memory := range []int64{minMemory, minMemory + 1, 100<<20 - 7, 256 << 20, maxMemory} {
		all := int64(0)
		for k := range numShares {
			n := k.of(memory)
			if n < memory/wholeMemory*shares[k].parts {
				t.Errorf("%s: %d bytes of %d", shares[k].name, n, memory)
			}
			all += n
		}
		if all != memory {
			t.Errorf("the shares have %d bytes of %d", all, memory)
		}
	}
	s := openTest(t, t.TempDir(), small())
	all := int64(0)
	for _, share := range s.Stats().Memory {
		if share.Name == "" || share.Used > share.Limit {
			t.Errorf("a new store: %+v", share)
		}
		all += share.Limit
	}
	if all != s.o.Memory {
		t.Errorf("Stats tells shares of %d bytes; want %d", all, s.o.Memory)
	}
}

// held returns the memory that a store takes: what is live on the heap beyond base,
// and the chunks of memtables, which lie outside of it. What pools keep for the next use,
// as encoders, is let go by the second collection.
func held(s *Store, base int64) int64 {
	runtime.GC()
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64()) - base + s.pool.chunks.Mapped()
}

// toldBy returns the memory that Stats tells.
func toldBy(s *Store) (all int64) {
	for _, share := range s.Stats().Memory {
		all += share.Used
	}
	return all
}

// heldAndTold returns what held does, and the most that Stats tells meanwhile: a seal may
// begin and end.
func heldAndTold(s *Store, base int64) (has, told int64) {
	done, most := make(chan struct{}), make(chan int64)
	all := toldBy(s)
	go func() {
		for {
			select {
			case <-done:
				most <- max(all, toldBy(s))
				return
			case <-time.After(100 * time.Microsecond):
				all = max(all, toldBy(s))
			}
		}
	}()
	has = held(s, base)
	close(done)
	return has, <-most
}

// What a store takes is what Stats tells, and no more than Options.Memory, whatever
// it is that takes memory.
func TestMemoryIsBounded(t *testing.T) {
	const memory = 64 << 20
	line := bytes.Repeat([]byte("word "), 20)
	one := func(labels Labels, i int) Batch {
		return Batch{{labels, []Entry{{Time: int64(1e18) + int64(i), Line: line}}}}
	}
	many := func(from, n int, labels func(int) Labels) (b Batch) {
		for i := range n {
			b = append(b, one(labels(from+i), from+i)...)
		}
		return b
	}
	pod := func(i int) Labels { return MustLabels("app", fmt.Sprint(i%7), "pod", fmt.Sprintf("pod-%d", i)) }
	// What the stores of a process share, as a compressor, is in base.
	first := openTest(t, t.TempDir(), small())
	mustAppend(t, first, many(0, 1000, pod))
	mustDo(t, first.Seal(t.Context()))
	mustDo(t, first.Close())
	for _, c := range []struct {
		name  string
		steps int
		// begin, unless nil, is called first.
		begin func(t *testing.T, s *Store)
		step  func(t *testing.T, s *Store, i int)
		// least is what the named share has at least, at some time.
		share share
		least int64
	}{
		{"many streams", 100, nil, func(t *testing.T, s *Store, i int) { mustAppend(t, s, many(1000*i, 1000, pod)) }, memtableShare, 10 << 20},
		{"many labels", 60, nil, func(t *testing.T, s *Store, i int) {
			mustAppend(t, s, many(200*i, 200, func(i int) Labels {
				var pairs []string
				for k := range 20 {
					pairs = append(pairs, fmt.Sprint("name", k), fmt.Sprint("value", i, k))
				}
				return MustLabels(pairs...)
			}))
		}, memtableShare, 10 << 20},
		{"large labels", 60, nil, func(t *testing.T, s *Store, i int) {
			mustAppend(t, s, many(50*i, 50, func(i int) Labels { return MustLabels("app", "a", "large", fmt.Sprintf("%08000d", i)) }))
		}, memtableShare, 10 << 20},
		{"tails", 60, func(t *testing.T, s *Store) {
			for range 3 {
				stallTail(t, s)
			}
		}, func(t *testing.T, s *Store, i int) { mustAppend(t, s, many(1000*i, 1000, pod)) }, tailShare, 256 << 10},
		{"keys", 20, nil, func(t *testing.T, s *Store, i int) {
			for k := range 100 {
				n := 100*i + k
				o := AppendOptions{Key: [16]byte{1, byte(n), byte(n >> 8), byte(n >> 16)}, Source: fmt.Sprint("source", n%1000), Offset: uint64(n)}
				if _, err := s.AppendWith(t.Context(), one(pod(0), n), o); err != nil {
					t.Fatal(err)
				}
			}
		}, keyShare, 100 << 10},
		{"queries", 60, func(t *testing.T, s *Store) {
			for i := range 30 {
				mustAppend(t, s, many(1000*i, 1000, pod))
			}
			for range 4 {
				stallQuery(t, s)
			}
		}, func(t *testing.T, s *Store, i int) {
			mustAppend(t, s, many(1000*i, 1000, pod))
			if _, err := s.Series(t.Context(), Query{Limit: 100}); err != nil && !errors.Is(err, ErrMore) {
				t.Fatal(err)
			}
		}, resultShare, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := held(&Store{pool: newMemtablePool(0)}, 0)
			o := small()
			o.Memory, o.MaxStreams = memory, 1<<30
			s := openTest(t, t.TempDir(), o)
			if c.begin != nil {
				c.begin(t, s)
			}
			var most, worst, share int64
			for i := range c.steps {
				c.step(t, s, i)
				if i%5 != 0 {
					continue
				}
				has, told := heldAndTold(s, base)
				share = max(share, s.Stats().Memory[c.share].Used)
				// What was given up while it was measured is not there the next time.
				for range 2 {
					if has > memory || has-told > memory/5 {
						has, told = heldAndTold(s, base)
					}
				}
				most = max(most, has)
				worst = max(worst, has-told)
			}
			t.Logf("at most %.1f MiB, and %.1f MiB more than Stats told; %s %.1f MiB", float64(most)/(1<<20), float64(worst)/(1<<20), shares[c.share].name, float64(share)/(1<<20))
			if most > memory {
				t.Errorf("%d bytes; want at most %d", most, memory)
			}
			if worst > memory/5 {
				t.Errorf("%d bytes that Stats did not tell", worst)
			}
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			until(t, "the streams are forgotten", func() bool { return s.Stats().Streams == 0 })
			// A compaction that the seal has caused gives its memory back when it ends.
			var has, told int64
			as := func() bool {
				told, has = toldBy(s), held(s, base)
				return has <= told+memory/16 && has >= told/2-2<<20
			}
			defer func() {
				if t.Failed() {
					t.Logf("%d bytes when all is sealed, by Stats %d", has, told)
				}
			}()
			until(t, "what is held when all is sealed is what Stats tells", as)
			if share < c.least {
				t.Errorf("%s: %d bytes at most; want %d or more, or this tries nothing", shares[c.share].name, share, c.least)
			}
		})
	}
}

// stallTail begins a tail whose consumer takes one entry, and then nothing.
func stallTail(t *testing.T, s *Store) {
	t.Helper()
	next, stop := iter.Pull2(s.Tail(t.Context(), Query{}))
	t.Cleanup(stop)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		next()
	}()
	until(t, "the tail takes an entry", func() bool {
		mustAppend(t, s, Batch{{MustLabels("app", "tail"), []Entry{{Time: 1e18, Line: []byte("x")}}}})
		select {
		case <-taken:
			return true
		default:
			return false
		}
	})
}

// stallQuery begins a query whose consumer takes one entry, and then nothing.
func stallQuery(t *testing.T, s *Store) {
	t.Helper()
	next, stop := iter.Pull2(s.Query(t.Context(), Query{}))
	t.Cleanup(stop)
	if _, err, ok := next(); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// What counts the streams of tenants is told, and given back when their hour is over.
func TestCensusesOfTenantsAreTold(t *testing.T) {
	o, limits, clock := limitedTest(t)
	s := openTest(t, t.TempDir(), o)
	told := func() int64 { return s.memory()[otherShare].Used }
	before := told()
	const tenants, streams = 20, 300
	for i := range tenants {
		name := fmt.Sprint("tenant ", i)
		limits.set(name, TenantOptions{MaxStreams: streams})
		var b Batch
		for j := range streams {
			b = append(b, Stream{MustLabels("n", fmt.Sprint(j)), []Entry{{Time: clock.Now().UnixNano(), Line: []byte("line")}}})
		}
		if _, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: name}); err != nil {
			t.Fatal(err)
		}
	}
	// The census of all streams has them too.
	if n := told() - before; n < 2*tenants*streams*16 || n > 2*tenants*streams*64 {
		t.Errorf("%d bytes for %d streams", n, tenants*streams)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.ns.Add(int64(2 * time.Hour))
	until(t, "the tenants are forgotten", func() bool {
		s.forgetReleased()
		return s.tenants.memory() == s.tenants.census.memory()
	})
}
