package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// oddEntries matches the entries of streams with an odd n whose time is odd, and tells
// if it is misused.
type oddEntries struct {
	t      *testing.T
	inUse  atomic.Bool
	begun  bool
	stream Labels
}

func (o *oddEntries) Stream(labels Labels) bool {
	o.begun, o.stream = isOdd(labels), labels
	return o.begun
}

func isOdd(labels Labels) bool { return strings.ContainsAny(labels.Get("n"), "13579") }

func (o *oddEntries) Match(time int64, line []byte, metadata Labels) bool {
	if !o.inUse.CompareAndSwap(false, true) {
		o.t.Error("two goroutines use an EntryMatcher at once")
	}
	defer o.inUse.Store(false)
	if !o.begun {
		o.t.Error("Match is called though Stream returned false")
	}
	if got := metadata.Get("of"); got != "" && got != o.stream.Get("n") {
		o.t.Errorf("an entry of stream %s has the metadata of %s", o.stream.Get("n"), got)
	}
	return time%2 == 1
}

func oddFilter(t *testing.T) Filter {
	return EntryFilter(func() EntryMatcher { return &oddEntries{t: t} })
}

// A filter by entries finds the same in memory and in segments, alone and within other
// filters, as a look at each entry.
func TestEntryFilter(t *testing.T) {
	seed := testseed.Of(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := openTest(t, t.TempDir(), anyTime())
	var all []Result
	odd := func(r Result) bool { return isOdd(r.Labels) && r.Time%2 == 1 }
	has := func(r Result, text string) bool { return strings.Contains(string(r.Line), text) }
	add := func() {
		for n := range 10 {
			st := Stream{Labels: MustLabels("n", fmt.Sprint(n))}
			for range 200 {
				e := Entry{Time: rnd.Int64N(1000), Line: fmt.Appendf(nil, "line %d \xff of %d", rnd.IntN(30), rnd.IntN(30))}
				if rnd.IntN(3) > 0 {
					e.Metadata = MustLabels("of", fmt.Sprint(n))
				}
				st.Entries = append(st.Entries, e)
				all = append(all, Result{Labels: st.Labels, Entry: e})
			}
			mustAppend(t, s, Batch{st})
		}
	}
	check := func() {
		t.Helper()
		for name, c := range map[string]struct {
			f    Filter
			want func(Result) bool
		}{
			"alone":      {oddFilter(t), odd},
			"not":        {Not(oddFilter(t)), func(r Result) bool { return !odd(r) }},
			"all":        {All(oddFilter(t), Contains("line 7 ")), func(r Result) bool { return odd(r) && has(r, "line 7 ") }},
			"any":        {Any(oddFilter(t), Contains("line 7 ")), func(r Result) bool { return odd(r) || has(r, "line 7 ") }},
			"all of not": {All(Not(oddFilter(t)), Any(Contains("line 7 "), Contains("of 3"))), func(r Result) bool { return !odd(r) && (has(r, "line 7 ") || has(r, "of 3")) }},
			"not of any": {Not(Any(oddFilter(t), Contains("line 7 "))), func(r Result) bool { return !odd(r) && !has(r, "line 7 ") }},
			"texts":      {Any(Contains("line 7 "), Contains("\xff of 11")), func(r Result) bool { return has(r, "line 7 ") || has(r, "\xff of 11") }},
			"absent":     {Contains("of 3\xffline"), func(Result) bool { return false }},
		} {
			var want, got []string
			for _, r := range all {
				if c.want(r) {
					want = append(want, fmt.Sprintf("%v %d %q %v", r.Labels, r.Time, r.Line, r.Metadata))
				}
			}
			for r, err := range s.Query(t.Context(), Query{Filter: c.f}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%v %d %q %v", r.Labels, r.Time, r.Line, r.Metadata))
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d entries; want %d", name, len(got), len(want))
			}
			groups, err := s.Aggregate(t.Context(), Query{Filter: c.f}, Aggregation{})
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, g := range groups {
				n, _ := g.Total()
				sum += n
			}
			if sum != int64(len(want)) {
				t.Errorf("%s: Aggregate counts %d; want %d", name, sum, len(want))
			}
		}
	}
	add()
	check()
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
	add()
	check()
}

// Match of the Filter gives no stream and no time.
func TestEntryFilterMatch(t *testing.T) {
	var got []string
	f := EntryFilter(func() EntryMatcher {
		return matcherFunc(func(labels Labels, time int64, line []byte, metadata Labels) bool {
			got = append(got, fmt.Sprint(labels, time, string(line), metadata))
			return true
		})
	})
	if !All(f, Contains("l")).Match([]byte("line"), MustLabels("a", "b")) || All(f, Contains("x")).Match([]byte("line"), Labels{}) {
		t.Error("the filter does not match, or too much")
	}
	if want := []string{fmt.Sprint(Labels{}, 0, "line", MustLabels("a", "b"))}; !slices.Equal(got, want) {
		t.Errorf("it got %q; want %q", got, want)
	}
}

// matcherFunc is an EntryMatcher.
func matcherFunc(f func(Labels, int64, []byte, Labels) bool) EntryMatcher { return &funcMatcher{f: f} }

type funcMatcher struct {
	f      func(Labels, int64, []byte, Labels) bool
	labels Labels
}

func (m *funcMatcher) Stream(labels Labels) bool { m.labels = labels; return true }

func (m *funcMatcher) Match(time int64, line []byte, metadata Labels) bool {
	return m.f(m.labels, time, line, metadata)
}

// Tail and Follow give the stream and the time.
func TestEntryFilterTail(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const each = 10
	add := func(base int64) {
		for n := range 4 {
			for i := range int64(each) {
				mustAppend(t, s, one(MustLabels("n", fmt.Sprint(n)), base+i, "line"))
			}
		}
	}
	add(0)
	var all sync.WaitGroup
	for what, c := range map[string]struct {
		iterate func(context.Context, Query) func(func(Result, error) bool)
		want    int
	}{
		"follow": {func(ctx context.Context, q Query) func(func(Result, error) bool) { return s.Follow(ctx, q) }, 2 * each},
		"tail":   {func(ctx context.Context, q Query) func(func(Result, error) bool) { return s.Tail(ctx, q) }, each},
	} {
		all.Go(func() {
			n := 0
			for r, err := range c.iterate(ctx, Query{Filter: oddFilter(t)}) {
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				if !isOdd(r.Labels) || r.Time%2 != 1 {
					t.Errorf("%s: %v at %d", what, r.Labels, r.Time)
				}
				if n++; n == c.want {
					return
				}
			}
		})
	}
	for { // until the tail has begun
		s.reads.tails.mu.Lock()
		begun := len(s.reads.tails.list)
		s.reads.tails.mu.Unlock()
		if begun == 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	add(each)
	all.Wait()
}

// A panic of an EntryMatcher, and of begin, ends its query alone.
func TestEntryFilterPanics(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("n", "1"), 1, "line"))
	why := errors.New("a bug")
	for what, f := range map[string]Filter{
		"Match": EntryFilter(func() EntryMatcher {
			return matcherFunc(func(Labels, int64, []byte, Labels) bool { panic(why) })
		}),
		"begin": EntryFilter(func() EntryMatcher { panic(why) }),
	} {
		var last error
		for _, err := range s.Query(t.Context(), Query{Filter: Any(f, Contains("x"))}) {
			last = err
		}
		if p, ok := errors.AsType[*PanicError](last); !ok || p.Value != why {
			t.Errorf("%s: %v", what, last)
		}
	}
	if n := len(query(t, s, Query{})); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// Nothing is allocated for an entry.
func TestEntryFilterAllocates(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	const entries = 20_000
	st := Stream{Labels: MustLabels("n", "1")}
	for i := range entries {
		st.Entries = append(st.Entries, Entry{Time: int64(i), Line: fmt.Appendf(nil, "line %d", i), Metadata: MustLabels("id", fmt.Sprint(i))})
	}
	mustAppend(t, s, Batch{st})
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := EntryFilter(func() EntryMatcher {
		return matcherFunc(func(_ Labels, _ int64, _ []byte, metadata Labels) bool { return metadata.Get("id") == "7" })
	})
	n := testing.AllocsPerRun(5, func() {
		if _, err := s.Count(t.Context(), Query{Filter: f}, 0); err != nil {
			t.Fatal(err)
		}
	})
	if n > entries/20 {
		t.Errorf("%v allocations for %d entries", n, entries)
	}
}
