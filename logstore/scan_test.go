package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for most := 1; most < 20; most++ {
		n := &topKeys{limit: most}
		var all []int64
		for range 200 {
			k := rnd.Int64N(100) - 50
			n.add(k)
			all = append(all, k)
			slices.Sort(all)
			want := int64(maxKey)
			if len(all) >= most {
				want = all[most-1]
			}
			if got := n.bound(); got != want {
				t.Fatalf("the bound of %d is %d, not %d", most, got, want)
			}
		}
	}
	var none *topKeys
	if none.bound() != maxKey {
		t.Error("there is a bound without a limit")
	}
}

// Streams with blocks of the same time need far more memory at once than a
// query may have.
func TestQueryMemory(t *testing.T) {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	const streams, each = 50, 300
	line := bytes.Repeat([]byte("a line of some length "), 8)
	for i := range streams {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
		for j := range each {
			st.Entries = append(st.Entries, Entry{Time: int64(j*1000 + i), Line: fmt.Appendf(nil, "%d/%d %s", i, j, line)})
		}
		a.add(t, Batch{st})
		if i == streams/2 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	const most = 512 << 10
	a.reads.minBytes, a.reads.maxBytes = 128<<10, most
	for _, q := range []Query{{}, {Order: Backward}, {Filter: Contains("line")}} {
		x, err := a.search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		w := newScan(x, entriesTask{})
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		peak, n := int64(0), 0
		var got []archived
		err = newConsumer(w, func(f Result, err error) bool {
			if n++; n%256 == 0 {
				// A slow consumer: the memory in use does not grow.
				time.Sleep(time.Millisecond)
			}
			w.mu.Lock()
			peak = max(peak, x.grant.held)
			w.mu.Unlock()
			got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
			return err == nil
		}).entries()
		if err != nil || x.grant.held != 0 {
			t.Errorf("%v, and at the end %d bytes are held", err, x.grant.held)
		}
		w.close()
		sameFound(t, "all", got, a.find(q))
		// The reservation may be exceeded by the rounding and the minimum of
		// each piece.
		if peak > 2*most {
			t.Errorf("%d bytes were held, of %d", peak, most)
		}
		if peak < most/4 {
			t.Errorf("only %d bytes were held: this tests nothing", peak)
		}
	}
}

// A query that finds no memory waits until another one ends.
func TestQueriesShareBudget(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "x"), 1, "a"))
	all := s.reads.memory.TryAcquire(1<<40, 0)
	done := make(chan int)
	go func() { done <- len(query(t, s, Query{})) }()
	until(t, "it waits", func() bool {
		return s.reads.memory.Waiting() == 1
	})
	busy := Query{NoWait: true}
	for _, err := range s.Query(context.Background(), busy) {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("a query that must not wait: %v", err)
		}
	}
	if _, err := s.Count(context.Background(), busy, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("a count that must not wait: %v", err)
	}
	s.reads.memory.Release(all)
	if n := <-done; n != 1 {
		t.Errorf("%d entries", n)
	}
	// A part of what a query needs is not kept.
	most := s.reads.memory.Free()
	nearlyAll := s.reads.memory.TryAcquire(most, s.reads.minBytes-1)
	for _, err := range s.Query(context.Background(), busy) {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("a query with too little memory: %v", err)
		}
	}
	s.reads.memory.Release(nearlyAll)
	if n := len(query(t, s, busy)); n != 1 || s.reads.memory.Free() != most {
		t.Errorf("with memory: %d entries, and %d bytes are free; want 1 and %d", n, s.reads.memory.Free(), most)
	}
}

// Damage in a block loses the entries of that block, and is reported.
func TestQueryDamage(t *testing.T) {
	for _, way := range []string{"query", "limit", "count", "series"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			a := &archive{Store: openTest(t, dir, anyTime())}
			rnd := rand.New(rand.NewPCG(1, 1))
			for i := range 40 {
				st := Stream{Labels: MustLabels("app", "x")}
				for j := range 100 {
					st.Entries = append(st.Entries, Entry{Time: int64(i*100 + j), Line: bytes.Repeat(fmt.Appendf(nil, "%x", rnd.Uint64()), 20)})
				}
				a.add(t, Batch{st})
			}
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			f, err := os.OpenFile(files[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			damage := make([]byte, 64)
			if _, err := f.WriteAt(damage, 2000); err != nil {
				t.Fatal(err)
			}
			var damaged *CorruptError
			check := func(n, most int) {
				t.Helper()
				if damaged == nil || damaged.File == "" || damaged.Reason == "" {
					t.Errorf("the error is %v", damaged)
				}
				if n == 0 || n >= most {
					t.Errorf("%d entries of %d", n, most)
				}
			}
			switch way {
			case "query", "limit":
				q := Query{}
				if way == "limit" {
					q.Limit = len(a.all) - 1
				}
				n := 0
				for _, err := range a.Query(context.Background(), q) {
					if err != nil && !errors.As(err, &damaged) {
						t.Fatal(err)
					} else if err == nil {
						n++
					}
				}
				check(n, len(a.all))
			case "count":
				counts, err := a.Count(context.Background(), Query{Filter: Contains("")}, 0)
				errors.As(err, &damaged)
				if len(counts) != 1 {
					t.Fatal(counts, err)
				}
				check(int(counts[0].Buckets[0].Entries), len(a.all))
			case "series":
				// Both ends of the range are in the first block.
				series, err := a.Series(context.Background(), Query{From: 10, To: 11})
				errors.As(err, &damaged)
				check(1-len(series), 2)
			}
		})
	}
}

// A query that cannot yet be complete, or is wrong, ends with an error.
func TestQueryPartial(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "x"), 1, "a"))
	why := errors.New("the log is damaged")
	s.replay.err.Store(&why)
	n := 0
	var last error
	for _, err := range s.Query(context.Background(), Query{}) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 1 || !errors.Is(last, why) {
		t.Errorf("%d entries, and %v", n, last)
	}
	if counts, err := s.Count(context.Background(), Query{}, 0); len(counts) != 1 || !errors.Is(err, why) {
		t.Errorf("%v, %v", counts, err)
	}
	if names, err := s.Labels(context.Background(), Query{}); len(names) != 1 || !errors.Is(err, why) {
		t.Errorf("%v, %v", names, err)
	}
}

// Queries beside appends and seals: each finds every entry acknowledged before,
// in order and once.
func TestQueryWhileAppending(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	const appenders, batches = 3, 60
	var acked [appenders]atomic.Int64
	var wg, queries sync.WaitGroup
	stop := make(chan struct{})
	for i := range appenders {
		wg.Go(func() {
			l := MustLabels("app", fmt.Sprint(i))
			for j := range batches {
				st := Stream{Labels: l}
				for k := range 10 {
					n := j*10 + k
					// All at nearly the same time, so that the order is that of
					// append.
					st.Entries = append(st.Entries, Entry{Time: int64(n / 100), Line: fmt.Append(nil, n)})
				}
				mustAppend(t, s, Batch{st})
				acked[i].Store(int64(j+1) * 10)
				if i == 0 && j%10 == 9 {
					if err := s.Seal(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 2 {
		queries.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				app := (i + round) % appenders
				before := acked[app].Load()
				next := int64(0)
				q := Query{Selector: Selector{{Name: "app", Value: fmt.Sprint(app)}}}
				if round%2 == 0 {
					q.Filter = Not(Contains("x"))
				}
				for f, err := range s.Query(context.Background(), q) {
					if err != nil || string(f.Line) != fmt.Sprint(next) {
						t.Errorf("%q, %v; not %d", f.Line, err, next)
						return
					}
					next++
				}
				if next < before {
					t.Errorf("%d entries, and %d were acknowledged before", next, before)
					return
				}
				counts, err := s.Count(context.Background(), q, 0)
				if err != nil || before > 0 && (len(counts) != 1 || counts[0].Buckets[0].Entries < next) {
					t.Errorf("%v, %v; a query before found %d", counts, err, next)
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	queries.Wait()
}

func TestLabelsAndValues(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	ctx := context.Background()
	a, b := MustLabels("app", "a", "host", "h1"), MustLabels("app", "b", "zone", "z")
	for sealed := range 2 {
		// Stream a has entries at 100 and 300, and none between them.
		mustAppend(t, s, Batch{{a, []Entry{{Time: 100}, {Time: 300}}}, {b, []Entry{{Time: 200}}}})
		for _, c := range []struct {
			from, to      int64
			names, values []string
		}{
			{0, 0, []string{"app", "host", "zone"}, []string{"a", "b"}},
			{100, 101, []string{"app", "host"}, []string{"a"}},
			{150, 250, []string{"app", "zone"}, []string{"b"}},
			{150, 200, nil, nil},
			{300, 0, []string{"app", "host"}, []string{"a"}},
			{301, 0, nil, nil},
			{200, 200, nil, nil},
		} {
			names, err := s.Labels(ctx, Query{From: c.from, To: c.to})
			if err != nil || !slices.Equal(names, c.names) {
				t.Errorf("sealed %d, [%d, %d): names %v, %v", sealed, c.from, c.to, names, err)
			}
			values, err := s.LabelValues(ctx, "app", Query{From: c.from, To: c.to})
			if err != nil || !slices.Equal(values, c.values) {
				t.Errorf("sealed %d, [%d, %d): values %v, %v", sealed, c.from, c.to, values, err)
			}
		}
		values, err := s.LabelValues(ctx, "app", Query{Selector: Selector{{Name: "host", Op: NotEqual}}})
		if err != nil || !slices.Equal(values, []string{"a"}) {
			t.Errorf("values of those with a host: %v, %v", values, err)
		}
		if err := s.Seal(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLabelsOrder(t *testing.T) {
	sets := []Labels{
		{}, MustLabels("a", "b"), MustLabels("a", "b", "c", "d"), MustLabels("a", "bc"), MustLabels("a", "b\x00"), MustLabels("a", "b\x00c"),
		MustLabels("a", "b\x01"), MustLabels("a\x00", "b"), MustLabels("ab", "c"), MustLabels("a", strings.Repeat("x", 300)), MustLabels("a", "é"),
	}
	for _, a := range sets {
		for _, b := range sets {
			if got, want := strings.Compare(a.sortKey(), b.sortKey()), compareLabels(a, b); got != want {
				t.Errorf("%v and %v compare as %d, not %d", a, b, got, want)
			}
		}
	}
}
