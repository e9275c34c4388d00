package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logstore/internal/arena"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// given waits until the memory of the memtables is released.
func given(t testing.TB, mems []*memtable) {
	t.Helper()
	for _, m := range mems {
		until(t, "a sealed memtable is given resume", func() bool { return m.refs.Load() == 0 })
	}
}

func (s *Store) memtables() []*memtable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mems)
}

// A stalled consumer holds no sealed memtable, and gets the same entries as
// without the seal.
func TestHandOver(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed+round), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed+round, 6))
			a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
			if round%4 > 0 {
				a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10
			}
			clock := int64(1_700_000_000_000_000_000)
			// Mostly many entries with equal times.
			tick := []int64{0, 0, 1, int64(time.Second)}[rnd.IntN(4)]
			for pass := range 10 {
				for range 1 + rnd.IntN(6) {
					a.add(t, randomBatch(rnd, &clock, tick))
				}
				q := a.randomQuery(rnd)
				want := a.find(q)
				l := MustLabels("later", fmt.Sprint(pass))
				stops := 1 + rnd.IntN(3)
				every := 1 + len(want)/(stops+1)
				var got []archived
				for f, err := range a.Query(context.Background(), q) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
					if len(got)%every != 0 {
						continue
					}
					if rnd.IntN(3) == 0 {
						a.add(t, one(l, clock, "GET later"))
					}
					mems := a.memtables()
					if err := a.Seal(context.Background()); err != nil {
						t.Fatal(err)
					}
					if rnd.IntN(2) == 0 {
						if err := a.Compact(context.Background()); err != nil {
							t.Fatal(err)
						}
					}
					given(t, mems[:len(mems)-1])
					if mems[len(mems)-1].count.Load() > 0 {
						given(t, mems[len(mems)-1:])
					}
				}
				// Later entries may be found or not.
				all := len(got)
				got = slices.DeleteFunc(got, func(e archived) bool { return e.labels == l })
				if q.Limit > 0 {
					want = want[:min(len(want), q.Limit-(all-len(got)))]
				}
				sameFound(t, fmt.Sprintf("%v [%d, %d) order %d limit %d", q.Selector, q.From, q.To, q.Order, q.Limit), got, want)
			}
		})
	}
}

// A memtable that is sealed while a worker reads it is released as soon as the
// worker is done.
func TestHandOverWhileRead(t *testing.T) {
	for _, way := range []string{"query", "backward", "limit", "count"} {
		t.Run(way, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(7, 8))
			a, _ := randomArchive(t, rnd, 120, 1, 0)
			mems := a.memtables()
			var once sync.Once
			seal := Func(func([]byte, Labels) bool {
				once.Do(func() {
					if err := a.Seal(context.Background()); err != nil {
						t.Error(err)
					}
				})
				return true
			})
			q := Query{Filter: seal}
			switch way {
			case "backward":
				q.Order = Backward
			case "limit":
				q.Limit = len(a.all) - 10
			case "count":
				got, err := a.Count(context.Background(), q, time.Microsecond)
				if err != nil {
					t.Fatal(err)
				}
				sameCount(t, "all", got, a.count(Query{}, time.Microsecond), true)
				given(t, mems)
				return
			}
			want := a.find(Query{Order: q.Order, Limit: q.Limit})
			var got []archived
			for f, err := range a.Query(context.Background(), q) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}}); len(got) == 1 {
					given(t, mems)
				}
			}
			sameFound(t, "all", got, want)
		})
	}
}

// The memtable before had a term alone, whose position the segment has too.
func TestHandOverBehindState(t *testing.T) {
	failed := errors.New("no entries")
	s := openTest(t, t.TempDir(), failing(anyTime(), func(n int) (before, after error) {
		if n == 0 {
			return failed, nil
		}
		return nil, nil
	}))
	l := MustLabels("a", "b")
	if err := s.Append(t.Context(), one(l, 1, "refused")); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := one(l, 1, "first")
	for i := range 10_000 {
		b[0].Entries = append(b[0].Entries, Entry{Time: int64(2 + i), Line: make([]byte, 100)})
	}
	mustAppend(t, s, b)
	s.reads.minBytes, s.reads.maxBytes = 2<<10, 2<<10 // most is not read at once
	found := 0
	for _, err := range s.Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if found++; found == 1 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found != len(b[0].Entries) {
		t.Errorf("%d entries, not %d", found, len(b[0].Entries))
	}
}

// A count of entries that are sealed before it reads them is that of a segment.
func TestHandOverBeforeCount(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 8))
	a, clock := randomArchive(t, rnd, 60, int64(time.Second), 0)
	mems := a.memtables()
	var c *totalsTask
	q := Query{From: clock - int64(time.Hour)}
	partial, err := a.scanAll(context.Background(), q, func(x *search) task {
		if err := a.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		c = newTotalsTask(x, Aggregation{Without: true, Step: time.Minute})
		return notInMemory{c, t}
	})
	if partial != nil || err != nil {
		t.Fatal(partial, err)
	}
	groups, err := c.groups.result(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	sameCount(t, "all", groups, a.count(q, time.Minute), false)
	given(t, mems)
}

// notInMemory is a totalsTask that must not read a memtable.
type notInMemory struct {
	*totalsTask
	t *testing.T
}

func (n notInMemory) visit(r *reading, l leaf, bound int64, of allotment, out *outcome) {
	if _, ok := l.(inMemory); ok {
		n.t.Error("it is read in memory")
	}
	n.totalsTask.visit(r, l, bound, of, out)
}

// Many queries with stalled consumers hold nothing that is appended and sealed
// meanwhile.
func TestHandOverOfMany(t *testing.T) {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10
	const queries = 6
	stalled, resume := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	l := MustLabels("app", "x")
	long := strings.Repeat("so that there are several blocks ", 60)
	var mems []*memtable
	for i := range queries {
		st := Stream{Labels: l}
		for j := range 300 {
			st.Entries = append(st.Entries, Entry{Time: int64(i*300+j) / 7, Line: fmt.Append(nil, i, j, long)})
		}
		a.add(t, Batch{st})
		q := Query{Order: Order(i % 2)}
		want := a.find(q)
		wg.Go(func() {
			var got []archived
			for f, err := range a.Query(context.Background(), q) {
				if err != nil {
					t.Error(err)
					return
				}
				if got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}}); len(got) == 1 {
					stalled <- struct{}{}
					<-resume
				}
			}
			if !slices.EqualFunc(got, want, func(a, b archived) bool { return a.String() == b.String() }) {
				t.Errorf("%d entries, not %d", len(got), len(want))
			}
		})
		<-stalled
		mems = append(mems, a.memtables()...)
		if err := a.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		given(t, slices.DeleteFunc(slices.Clone(mems), func(m *memtable) bool { return m.count.Load() == 0 }))
	}
	close(resume)
	wg.Wait()
}

// Memtables held for their times alone are switched too.
func TestHandOverOfKept(t *testing.T) {
	for _, order := range []Order{Forward, Backward} {
		rnd := rand.New(rand.NewPCG(11, 8))
		a, _ := randomArchive(t, rnd, 120, 1, 0)
		mems := a.memtables()
		q := Query{Order: order, Limit: 1000}
		x, err := a.search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		w := newScan(x, timesTask{})
		defer w.close()
		w.top = &topKeys{limit: q.Limit}
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		var got []archived
		yield := func(f Result, err error) bool {
			got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
			return err == nil
		}
		c := newConsumer(w, yield)
		if err := c.drain(); err != nil || len(w.kept) == 0 {
			t.Fatalf("%v; %d kept", err, len(w.kept))
		}
		if err := a.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		given(t, mems)
		w.readKept(entriesTask{})
		if err := c.entries(); err != nil {
			t.Fatal(err)
		}
		sameFound(t, "all", got, a.find(q))
	}
}

// A rowRange has exactly the rows of its source.
func TestRowRange(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		m := newMemtable(1, testPool(0), func(int64) {})
		var all []memRow
		for i := range 1 + rnd.IntN(50) {
			all = append(all, memRow{time: rnd.Int64N(10), pos: uint32(i)})
		}
		for _, r := range all {
			m.insert(m.stream(new(stream)), []memRow{r}, 0)
		}
		slices.SortFunc(all, compareRows)
		x := &search{backward: rnd.IntN(2) == 0, to: math.MaxInt64}
		from := rnd.Int64N(10)
		to := from + 1 + rnd.Int64N(10)
		l := &memoryLeaf{mem: m, spans: []*memStream{m.streams.at(0)}}
		l.first, l.last = x.keys(from, to-1)
		var last memRow
		if rnd.IntN(2) == 0 {
			last = all[rnd.IntN(len(all))]
			l.window = l.window.behind(mark{time: last.time, pos: last.pos})
		}
		var want []memRow
		for _, r := range all {
			d := compareRows(r, last)
			if x.backward {
				d = -d
			}
			if r.time >= from && r.time < to && (!l.window.isCut() || d > 0) {
				want = append(want, r)
			}
		}
		var s rowRange
		if parts, _ := l.sealedParts(x, nil); len(parts) > 0 {
			s = parts[0].rowRange
		}
		var got []memRow
		if s.first < s.end {
			got = all[s.first:s.end]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("rows %d to %d, not %v", s.first, s.end, want)
		}
		// Its runs are cut to exactly these rows.
		var runs []numberedRun
		for at := 0; at < len(all); {
			n := min(1+rnd.IntN(9), len(all)-at)
			runs = append(runs, numberedRun{segment2.Run{
				Block: uint32(len(runs)), First: uint32(100 + at), Rows: uint32(n), Seq: uint64(len(runs)),
				MinTime: all[at].time, MaxTime: all[at+n-1].time, Raw: 10,
			}, 7})
			at += n
		}
		in := searched{clips: map[int][]clip{}}
		in.clipRuns(slices.Clone(runs), []rowRange{s})
		var cutTo []memRow
		for block := range runs {
			for _, c := range in.clips[block] {
				rows := all[c.first-100:][:c.rows]
				cutTo = append(cutTo, rows...)
				if c.run != 7 || c.min > rows[0].time || c.max < rows[len(rows)-1].time {
					t.Fatalf("run %d, times %d to %d of %v", c.run, c.min, c.max, rows)
				}
			}
		}
		if !slices.Equal(cutTo, want) {
			t.Fatalf("%v, not %v", cutTo, want)
		}
	}
}

// A memtable whose appends have all failed has no segment: a query that has not come
// to it yet goes on without it.
func TestHandOverOfNothing(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	s.reads.minBytes, s.reads.maxBytes = 2<<10, 2<<10
	line := strings.Repeat("x", 3000)
	for i := range 20 {
		mustAppend(t, s, one(MustLabels("app", "api"), int64(i), line))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m := s.enter()
	m.arena.Reserve(arena.ChunkSize)
	m.leave()
	mems := s.memtables()
	lines := 0
	for _, err := range s.Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if lines++; lines > 1 {
			continue
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		given(t, mems)
	}
	if lines != 20 {
		t.Errorf("%d lines", lines)
	}
}
