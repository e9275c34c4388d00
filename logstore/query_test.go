package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// An archive is a store and all entries appended to it, in order.
type archive struct {
	*Store
	all []archived
}

type archived struct {
	n      int // how many were appended before
	labels Labels
	Entry
}

func anyTime() Options {
	o := small()
	o.LateWindow, o.FutureWindow = -1, -1
	return o
}

func (a *archive) add(t testing.TB, b Batch) {
	t.Helper()
	mustAppend(t, a.Store, b)
	for _, st := range b {
		for _, e := range st.Entries {
			a.all = append(a.all, archived{len(a.all), st.Labels, e})
		}
	}
}

// find is a slow Query.
func (a *archive) find(q Query) []archived {
	sel, err := q.Selector.compile()
	if err != nil {
		panic(err)
	}
	var list []archived
	for _, e := range a.all {
		if e.Time < q.From || q.To != 0 && e.Time >= q.To || !sel.matches(e.labels) {
			continue
		}
		if q.Filter == nil || q.Filter.Match(e.Line, e.Metadata) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b archived) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), compareLabels(a.labels, b.labels), cmp.Compare(a.n, b.n))
	})
	if q.Order == Backward {
		slices.Reverse(list)
	}
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list
}

// compareLabels compares names and values one by one.
func compareLabels(a, b Labels) int {
	flat := func(l Labels) (list []string) {
		for n, v := range l.All() {
			list = append(list, n, v)
		}
		return list
	}
	return slices.Compare(flat(a), flat(b))
}

// query collects the results of Query.
func query(t testing.TB, s *Store, q Query) []archived {
	t.Helper()
	var list []archived
	for f, err := range s.Query(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
	}
	return list
}

func (e archived) String() string {
	return fmt.Sprintf("%v %d %q %v", e.labels, e.Time, e.Line, e.Metadata)
}

func sameFound(t testing.TB, what string, got, want []archived) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: %d entries, not %d; missing: %v", what, len(got), len(want), want[i])
		case i >= len(want):
			t.Fatalf("%s: %d entries, not %d; too much: %v", what, len(got), len(want), got[i])
		case got[i].String() != want[i].String():
			t.Fatalf("%s: entry %d of %d is\n%v, not\n%v", what, i, len(want), got[i], want[i])
		}
	}
}

var systems = []string{"api", "数据库", "web", "cron"}

// words are some that filters rule out well, and some that they do not.
var words = []string{"timeout", "Timeout", "refused", "user=4711", "GET", "/index.html", "连接超时", "µs", "x", "ERROR", "connection", "\xff\xfe", ""}

func randomBatch(rnd *rand.Rand, clock *int64, tick int64) Batch {
	var b Batch
	for range 1 + rnd.IntN(4) {
		st := Stream{Labels: MustLabels("app", systems[rnd.IntN(len(systems))], "host", fmt.Sprint("h", rnd.IntN(4)))}
		if rnd.IntN(6) == 0 {
			st.Labels = MustLabels("zone", "a\x00b")
		}
		for range 1 + rnd.IntN(40) {
			*clock += rnd.Int64N(3) * tick
			at := *clock
			if rnd.IntN(10) == 0 {
				at = max(0, at-rnd.Int64N(200)*tick)
			}
			var line []string
			for range rnd.IntN(6) {
				line = append(line, words[rnd.IntN(len(words))])
			}
			e := Entry{Time: at, Line: []byte(strings.Join(line, " "))}
			if rnd.IntN(5) == 0 {
				e.Metadata = MustLabels("trace", fmt.Sprint("t", rnd.IntN(20)))
			}
			st.Entries = append(st.Entries, e)
		}
		b = append(b, st)
	}
	return b
}

// randomArchive returns an archive of n random batches, and the time after the
// last. If sealEvery is above 0, it seals after that many batches each.
func randomArchive(t *testing.T, rnd *rand.Rand, n int, tick int64, sealEvery int) (*archive, int64) {
	t.Helper()
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	clock := int64(1_700_000_000_000_000_000)
	for i := range n {
		a.add(t, randomBatch(rnd, &clock, tick))
		if sealEvery > 0 && (i+1)%sealEvery == 0 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return a, clock
}

func randomSelector(rnd *rand.Rand) Selector {
	values := []string{"api", "数据库", "", "nobody", "api|web", "a.*|cron", ".+", ".*", "(?i)API", "web|", "[ac]pi", "^api$", "h[12]"}
	var sel Selector
	for range rnd.IntN(3) {
		m, err := Match([]string{"app", "host", "zone", "none"}[rnd.IntN(4)], MatchOp(rnd.IntN(4)), values[rnd.IntN(len(values))])
		if err != nil {
			panic(err)
		}
		sel = append(sel, m)
	}
	return sel
}

func randomFilter(rnd *rand.Rand, depth int) Filter {
	word := words[rnd.IntN(len(words))]
	switch k := rnd.IntN(10); {
	case k == 0:
		return ContainsFold(strings.ToUpper(word))
	case k == 1:
		return Word(word)
	case k == 2:
		exprs := []string{`time(out)?`, `(?i)timeout|refused`, `user=\d+`, `GET .*ERROR`, `^GET$`, `[Tt]imeout`, `(a|b)+c`, `连接.时`, `\bx\b`}
		return Regexp(regexp.MustCompile(exprs[rnd.IntN(len(exprs))]))
	case k == 3:
		m, _ := Match("trace", MatchOp(rnd.IntN(4)), []string{"t1", "t1|t2", "", "t.*", "none"}[rnd.IntN(5)])
		f, err := MetadataMatches(m)
		if err != nil {
			panic(err)
		}
		return f
	case k == 4 && depth > 0:
		return Not(randomFilter(rnd, depth-1))
	case k == 5 && depth > 0:
		return All(randomFilter(rnd, depth-1), randomFilter(rnd, depth-1))
	case k == 6 && depth > 0:
		return Any(randomFilter(rnd, depth-1), randomFilter(rnd, depth-1))
	case k == 7:
		return Func(func(line []byte, md Labels) bool { return len(line)%3 == 0 || md.Get("trace") == "t7" })
	}
	return Contains(word)
}

func (a *archive) randomQuery(rnd *rand.Rand) Query {
	q := Query{Selector: randomSelector(rnd), Order: Order(rnd.IntN(2))}
	if rnd.IntN(3) > 0 {
		q.Filter = randomFilter(rnd, 2)
	}
	if rnd.IntN(2) == 0 {
		q.Limit = 1 + rnd.IntN(100)
	}
	if len(a.all) > 0 && rnd.IntN(2) == 0 {
		q.From = a.all[rnd.IntN(len(a.all))].Time
	}
	if len(a.all) > 0 && rnd.IntN(2) == 0 {
		q.To = q.From + rnd.Int64N(1000)*int64(time.Second)
	}
	return q
}

// TestQueryAgainstArchive compares queries and counts with a plain search, over
// stores with entries in memory, in segments, and in compacted ones, and with
// so little memory that blocks are read piece by piece.
func TestQueryAgainstArchive(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed+round), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed+round, 5))
			a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
			if round%2 == 1 {
				// A query has only its first grant, which is nearly nothing.
				a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10
			}
			clock := int64(1_700_000_000_000_000_000)
			tick := []int64{1, int64(time.Millisecond), int64(time.Second)}[rnd.IntN(3)]
			for range 8 {
				for range rnd.IntN(8) {
					a.add(t, randomBatch(rnd, &clock, tick))
				}
				switch rnd.IntN(5) {
				case 0, 1:
					if err := a.Seal(context.Background()); err != nil {
						t.Fatal(err)
					}
				case 2:
					if err := a.Compact(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				for range 6 {
					a.compare(t, a.randomQuery(rnd), rnd)
				}
			}
		})
	}
}

func (a *archive) compare(t *testing.T, q Query, rnd *rand.Rand) {
	t.Helper()
	what := fmt.Sprintf("filter %v, %v [%d, %d) order %d limit %d", q.Filter != nil, q.Selector, q.From, q.To, q.Order, q.Limit)
	sameFound(t, what, query(t, a.Store, q), a.find(q))

	step := []time.Duration{0, 1, time.Second, time.Minute, time.Hour}[rnd.IntN(5)]
	got, err := a.Count(context.Background(), q, step)
	if err != nil {
		t.Fatal(err)
	}
	q.Limit, q.Order = 0, Forward
	sameCount(t, fmt.Sprintf("%s step %v", what, step), got, a.count(q, step), q.Filter != nil)

	g := randomAggregation(rnd)
	if got, err = a.Aggregate(context.Background(), q, g); err != nil {
		t.Fatal(err)
	}
	sameCount(t, fmt.Sprintf("%s %+v", what, g), got, aggregated(a.countFrom(q, g.Step, g.Offset), g), q.Filter != nil)

	want := map[Labels]bool{}
	for _, e := range a.find(Query{Selector: q.Selector, From: q.From, To: q.To}) {
		want[e.labels] = true
	}
	series, err := a.Series(context.Background(), Query{Selector: q.Selector, From: q.From, To: q.To})
	if err != nil {
		t.Fatal(err)
	}
	if len(series) != len(want) || !slices.IsSortedFunc(series, compareLabels) {
		t.Fatalf("%s: series %v, want in order %v", what, series, want)
	}
	for _, l := range series {
		if !want[l] {
			t.Fatalf("%s: %v has no entries", what, l)
		}
	}
}

// count is a slow Count.
func (a *archive) count(q Query, step time.Duration) []Group { return a.countFrom(q, step, 0) }

// countFrom is count with buckets that begin at an offset.
func (a *archive) countFrom(q Query, step, offset time.Duration) []Group {
	var counts []Group
	list := a.find(q)
	slices.SortStableFunc(list, func(a, b archived) int { return compareLabels(a.labels, b.labels) })
	for _, e := range list {
		start := q.From
		if step > 0 {
			start = e.Time - (e.Time-int64(offset))%int64(step)
			if e.Time < int64(offset) {
				start = int64(offset - step)
			}
		}
		if len(counts) == 0 || counts[len(counts)-1].Labels != e.labels {
			counts = append(counts, Group{Labels: e.labels})
		}
		c := &counts[len(counts)-1]
		if len(c.Buckets) == 0 || c.Buckets[len(c.Buckets)-1].Start != start {
			c.Buckets = append(c.Buckets, Bucket{Start: start})
		}
		b := &c.Buckets[len(c.Buckets)-1]
		b.Entries++
		b.Bytes += int64(len(e.Line) + len(e.Metadata.enc))
	}
	return counts
}

func sameCount(t *testing.T, what string, got, want []Group, bytesToo bool) {
	t.Helper()
	plain := func(counts []Group) string {
		var b strings.Builder
		for _, c := range counts {
			for _, k := range c.Buckets {
				if !bytesToo {
					k.Bytes = 0
				}
				fmt.Fprintln(&b, c.Labels, k)
			}
		}
		return b.String()
	}
	if g, w := plain(got), plain(want); g != w {
		t.Fatalf("%s: counted\n%s, not\n%s", what, g, w)
	}
}

// Where no line is read, bytes are divided among buckets; their sum is exact.
func TestCountBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	a, _ := randomArchive(t, rnd, 40, int64(time.Second), 15)
	want := int64(0)
	for _, e := range a.all {
		want += int64(len(e.Line) + len(e.Metadata.enc))
	}
	for _, step := range []time.Duration{0, time.Second, time.Minute, math.MaxInt64} {
		counts, err := a.Count(context.Background(), Query{}, step)
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, c := range counts {
			for _, b := range c.Buckets {
				got += b.Bytes
			}
		}
		if got != want {
			t.Errorf("step %v: %d bytes, not %d", step, got, want)
		}
	}
}

// A consumer that stops, at any entry, leaves nothing behind.
func TestQueryBreak(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	a, _ := randomArchive(t, rnd, 60, int64(time.Second), 20)
	until(t, "the store has settled", func() bool { return runtime.NumGoroutine() < 30 })
	before, free := runtime.NumGoroutine(), a.reads.memory.Free()
	want := a.find(Query{})
	for n := 1; n < len(want); n += 1 + len(want)/40 {
		got := 0
		for _, err := range a.Query(context.Background(), Query{Order: Order(n % 2)}) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; got == n {
				break
			}
		}
		if got != n {
			t.Fatalf("%d entries before the break, not %d", got, n)
		}
	}
	if a.reads.memory.Free() != free {
		t.Errorf("%d bytes of the budget are free, %d were", a.reads.memory.Free(), free)
	}
	until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestQueryCancel(t *testing.T) {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	l := MustLabels("app", "x")
	for i := range 100 {
		a.add(t, one(l, int64(i), "line"))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	why := errors.New("because")
	var last error
	n := 0
	for _, err := range a.Query(ctx, Query{}) {
		last = err
		if n++; n == 10 {
			cancel(why)
		}
		if n > 100 {
			t.Fatal("it goes on")
		}
	}
	if !errors.Is(last, why) {
		t.Errorf("the last error is %v", last)
	}
	for _, err := range a.Query(ctx, Query{}) {
		if last = err; err == nil {
			t.Error("an entry of a query that was cancelled before")
		}
	}
	if !errors.Is(last, why) {
		t.Errorf("the error is %v", last)
	}
	if _, err := a.Count(ctx, Query{}, 0); !errors.Is(err, why) {
		t.Errorf("Count: %v", err)
	}
	if _, err := a.Series(ctx, Query{}); !errors.Is(err, why) {
		t.Errorf("Series: %v", err)
	}
}

// Close ends running queries.
func TestQueryClose(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustAppend(t, s, one(MustLabels("app", "x"), 1, "a"))
	mustAppend(t, s, one(MustLabels("app", "x"), 2, "b"))
	var last error
	for _, err := range s.Query(context.Background(), Query{}) {
		if last = err; err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if !errors.Is(last, ErrClosed) {
		t.Errorf("the last error is %v", last)
	}
	for _, err := range s.Query(context.Background(), Query{}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a query of a closed store: %v", err)
		}
	}
}

func TestQueryRefuses(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for what, q := range map[string]Query{
		"negative from":  {From: -1},
		"turned round":   {From: 2, To: 1},
		"negative limit": {Limit: -1},
		"unknown order":  {Order: 2},
		"expression":     {Selector: Selector{{Name: "a", Op: Matches, Value: "("}}},
		"no name":        {Selector: Selector{{Value: "x"}}},
		"operator":       {Selector: Selector{{Name: "a", Op: 4}}},
	} {
		n := 0
		for _, err := range s.Query(context.Background(), q) {
			if n++; err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d steps", what, n)
		}
	}
}
