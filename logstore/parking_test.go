package logstore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// parkAll parks every scan whose consumer is away, and returns how many.
func (r *readPool) parkAll() (n int) {
	for _, s := range r.running() {
		s.mu.Lock()
		if s.inbox.away && !s.end.begun && !s.x.grant.parked {
			s.park()
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// Queries that are parked at any step find what they would have found, also
// where what they read is sealed and compacted meanwhile.
func TestParkedQuery(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed+round), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed+round, 21))
			a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
			if round%4 > 0 {
				a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10
			}
			clock := int64(1_700_000_000_000_000_000)
			tick := []int64{0, 0, 1, 1e9}[rnd.IntN(4)]
			free := a.reads.memory.Free()
			for pass := range 12 {
				for range 1 + rnd.IntN(6) {
					a.add(t, randomBatch(rnd, &clock, tick))
				}
				q := a.randomQuery(rnd)
				want := a.find(q)
				every := 1 + rnd.IntN(1+len(want))
				var got []archived
				for f, err := range a.Query(context.Background(), q) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
					if len(got)%every != 0 {
						continue
					}
					if n := a.reads.parkAll(); n > 1 {
						t.Fatalf("%d queries were parked", n)
					}
					until(t, "a parked query has no memory", func() bool { return a.reads.memory.Free() == free })
					if rnd.IntN(4) == 0 {
						if err := a.Seal(context.Background()); err != nil {
							t.Fatal(err)
						}
					}
					if rnd.IntN(4) == 0 {
						if err := a.Compact(context.Background()); err != nil {
							t.Fatal(err)
						}
					}
				}
				sameFound(t, fmt.Sprintf("pass %d: %v [%d, %d) order %d limit %d", pass, q.Selector, q.From, q.To, q.Order, q.Limit), got, want)
			}
		})
	}
}

// A hundred iterators that stall in the least memory of a store keep no query
// out, and each of them goes on with exactly what it would have found.
func TestStalledIteratorsGiveUpTheirPlace(t *testing.T) {
	o := anyTime()
	o.Memory = minMemory
	a := &archive{Store: openTest(t, t.TempDir(), o)}
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 22))
	clock := int64(1_700_000_000_000_000_000)
	add := func(n int) {
		for range n {
			a.add(t, randomBatch(rnd, &clock, int64(rnd.IntN(2))*1e6))
		}
	}
	add(60)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	add(30)
	type stalled struct {
		next func() (Result, error, bool)
		got  []archived
		want []archived
	}
	const iterators = 100
	take := func(s *stalled) bool {
		f, err, ok := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			s.got = append(s.got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
		}
		return ok
	}
	var list []*stalled
	for i := range iterators {
		q := Query{Order: Order(i % 2)}
		switch i % 5 {
		case 0:
			q.Limit = 1 + rnd.IntN(300)
		case 1:
			q.Filter = Contains("GET")
		case 2:
			q.Filter, q.Limit = Contains("GET"), 1+rnd.IntN(300)
		}
		s := &stalled{want: a.find(q)}
		next, stop := iter.Pull2(a.Query(context.Background(), q))
		defer stop()
		s.next = next
		take(s)
		list = append(list, s)
	}
	all := a.find(Query{})
	sameFound(t, "a new query", query(t, a.Store, Query{}), all)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameFound(t, "a new query after a seal", query(t, a.Store, Query{Order: Backward}), a.find(Query{Order: Backward}))
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for i, s := range list {
		for take(s) {
		}
		sameFound(t, fmt.Sprintf("iterator %d", i), s.got, s.want)
	}
}

// A query that is parked at each step keeps no source and nothing that it knows of
// segments, tells damage once, and counts what it reads once more as that.
func TestParkedQueryKeepsLittle(t *testing.T) {
	dir := t.TempDir()
	w := openTest(t, dir, anyTime())
	const segments, each = 8, 200
	for i := range segments {
		var b Batch
		for j := range each {
			// All segments are of the same times.
			b = append(b, Stream{MustLabels("n", fmt.Sprint(j%20)), []Entry{{Time: int64(1000 + j/2), Line: fmt.Append(nil, "line ", i, j)}}})
		}
		mustAppend(t, w, b)
		mustDo(t, w.Seal(t.Context()))
	}
	mustDo(t, w.Close())
	s, err := OpenReadOnly(dir, anyTime()) // without compactions, which would replace segments between queries
	mustDo(t, err)
	defer s.Close()
	<-s.Ready()
	want := query(t, s, Query{})
	var whole, st QueryStats
	for range s.Query(t.Context(), Query{Stats: &whole}) {
	}
	damage := &CorruptError{"a file", 0, "of the test"}
	told, parked := 0, 0
	var got []Result
	for f, err := range s.Query(t.Context(), Query{Stats: &st}) {
		if err != nil {
			told++
		} else {
			f.Line = slices.Clone(f.Line)
			got = append(got, f)
		}
		if parked += s.reads.parkAll(); parked > len(got)+told {
			t.Fatal("other queries were parked")
		}
		for _, k := range s.reads.running() {
			k.mu.Lock()
			if len(k.queue.Items) > 0 || len(k.inbox.merge.heap.Items) > 0 || k.x.grant.granted > 0 {
				t.Errorf("%d sources and %d results are left, and %d bytes", len(k.queue.Items), len(k.inbox.merge.heap.Items), k.x.grant.granted)
			}
			k.tell([]error{damage}) // as a worker does that reads it again
			k.mu.Unlock()
		}
	}
	if told != 1 {
		t.Errorf("one place of damage was told %d times", told)
	}
	if len(got) != len(want) || parked < 10 {
		t.Fatalf("%d entries, parked %d times; want %d", len(got), parked, len(want))
	}
	for i, f := range got {
		if w := want[i]; f.Labels != w.labels || f.Time != w.Time || string(f.Line) != string(w.Line) {
			t.Fatalf("entry %d is %v; want %v", i, f, w)
		}
	}
	if st.Segments != whole.Segments || st.Bytes != whole.Bytes || st.Blocks != whole.Blocks || st.Rereads == 0 {
		t.Errorf("statistics %+v; want those of a query that was not parked, %+v, and some blocks read again", st, whole)
	}
}
