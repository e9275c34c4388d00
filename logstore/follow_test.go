package logstore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/testseed"
)

// follow takes n entries, or all until ctx is done.
func follow(t testing.TB, ctx context.Context, s *Store, q Query, n int, step func(got []archived)) (got []archived) {
	t.Helper()
	for f, err := range s.Follow(ctx, q) {
		if err != nil {
			t.Error(err)
			return got
		}
		got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
		if step != nil {
			step(got)
		}
		if len(got) == n {
			break
		}
	}
	return got
}

// sorted returns the entries as strings, sorted.
func sorted(list []archived) []string {
	s := make([]string, len(list))
	for i := range list {
		s[i] = list[i].String()
	}
	slices.Sort(s)
	return s
}

// Appends of several goroutines, seals and compactions beside it: a follower gets
// what was there in order, and every entry once, also where it is so slow that
// the tail loses most of them.
func TestFollow(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed+round, 41))
		a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
		if round%2 > 0 {
			a.reads.tails.memory = 8 << 10
		} else {
			a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10 // reads on while entries come
		}
		clock := int64(1_700_000_000_000_000_000)
		for range 10 {
			a.add(t, randomBatch(rnd, &clock, int64(round/2)))
		}
		if round > 3 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
			a.add(t, randomBatch(rnd, &clock, 1))
		}
		q := Query{Order: Order(rnd.IntN(2))}
		if rnd.IntN(2) == 0 {
			q.Filter = Not(Contains("GET"))
		}
		first := a.find(q)
		const writers, batches, each = 4, 12, 9
		start := make(chan struct{})
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				<-start
				l, at := MustLabels("writer", fmt.Sprint(w)), clock
				if w%2 == 0 { // in the middle of what the first part is reading
					l, at = first[0].labels, first[len(first)/2].Time
				}
				for i := range batches {
					st := Stream{Labels: l}
					for j := range each {
						st.Entries = append(st.Entries, Entry{Time: at + int64(i), Line: fmt.Appendf(nil, "%d/%d/%d %s", w, i, j, strings.Repeat("x", 50))})
					}
					if err := a.Append(context.Background(), Batch{st}); err != nil {
						t.Error(err)
					}
					if i == w+2 {
						if err := a.Seal(context.Background()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		begin := min(len(first), 1+rnd.IntN(1+len(first)))
		n := len(first) + writers*batches*each
		var all []archived
		got := follow(t, t.Context(), a.Store, q, n, func(got []archived) {
			switch {
			case len(got) == begin:
				close(start)
				if rnd.IntN(2) == 0 {
					wg.Wait() // all is appended while it reads the first part
				}
			case len(got)%50 == 0 && round%3 == 1:
				a.reads.parkAll()
			}
		})
		wg.Wait()
		sameFound(t, "the first part", got[:min(len(first), len(got))], first)
		for f, err := range a.Query(context.Background(), Query{Filter: q.Filter}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
		}
		if g, w := sorted(got), sorted(all); !slices.Equal(g, w) {
			t.Fatalf("round %d: %d entries, not the %d of the store", round, len(g), len(w))
		}
	}
}

// A follower ends with its context, with the store, and with the consumer, and
// gives back all memory.
func TestFollowEnds(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "x"), 1, "a"))
	free := s.reads.memory.Free()
	if got := follow(t, t.Context(), s, Query{}, 1, nil); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
	for _, err := range s.Follow(t.Context(), Query{Cursors: true}) {
		if err == nil || !strings.Contains(err.Error(), "Query.Cursors") {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range s.Follow(ctx, Query{}) {
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		cancel()
	}
	if got := s.reads.memory.Free(); got != free || len(s.reads.tails.list) != 0 {
		t.Errorf("%d bytes are free, not %d; %d tails", got, free, len(s.reads.tails.list))
	}
}

// A follower whose consumer has stalled holds no more for more records, and its consumer
// gets all of them once, by another reading, when it goes on.
func TestFollowStalled(t *testing.T) {
	const followers, memory, batches = 20, 64 << 10, 3000
	o := anyTime()
	o.Level = durability.Kill
	s := openTest(t, t.TempDir(), o)
	s.reads.tails.memory = memory
	l := MustLabels("app", "a")
	mustAppend(t, s, one(l, 0, "0"))
	var nexts []func() (Result, error, bool)
	for range followers {
		next, stop := iter.Pull2(s.Follow(t.Context(), Query{}))
		defer stop()
		if _, err, _ := next(); err != nil {
			t.Fatal(err)
		}
		nexts = append(nexts, next)
	}
	for i := 1; i <= batches; i++ {
		mustAppend(t, s, one(l, int64(i), fmt.Sprint(i)))
	}
	if used := s.reads.tails.used(); used > memory {
		t.Errorf("%d stalled followers hold %d bytes; want at most %d", followers, used, memory)
	}
	for n, next := range nexts[:2] {
		for i := 1; i <= batches; i++ {
			r, err, ok := next()
			if err != nil || !ok || r.Time != int64(i) {
				t.Fatalf("follower %d: %v, %v, %v; want the entry of time %d", n, r, err, ok, i)
			}
		}
	}
}

// What a Follow reads again it reads with the bounds of its query.
func TestFollowAgain(t *testing.T) {
	f := follower{q: Query{Tenant: "ten", From: 1, To: 9, Workers: 3}, low: 5}
	q := f.again(8)
	if q.Tenant != "ten" || q.From != 1 || q.To != 9 || q.Workers != 3 || !q.Cursors || q.positions != (positionRange{5, 8}) {
		t.Errorf("%+v", q)
	}
}
