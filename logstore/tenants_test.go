package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A tenantLog is the entries of a tenant that a test has appended, in the order
// of queries.
type tenantLog struct {
	name string
	all  []kept
}

// sorted puts the entries in the order of queries. Those of one stream and time
// stay in theirs.
func (l *tenantLog) sorted() []kept {
	slices.SortStableFunc(l.all, func(a, b kept) int {
		if a.time != b.time {
			return int(a.time - b.time)
		}
		return Labels{a.labels}.Compare(Labels{b.labels})
	})
	return l.all
}

// tenantStreams are the same for all tenants, but for one.
func tenantStreams(name string) []Labels {
	return []Labels{
		MustLabels("app", "api", "host", "x"), MustLabels("app", "api", "host", "y"), MustLabels("app", "web"),
		MustLabels("app", "own", "of", "tenant "+name, "only-"+fmt.Sprint(len(name)), "yes"),
	}
}

// appendRandom appends some batches of each tenant.
func appendRandom(t *testing.T, s *Store, rnd *rand.Rand, logs []*tenantLog, base int64) {
	t.Helper()
	for range 30 {
		l := logs[rnd.IntN(len(logs))]
		streams := tenantStreams(l.name)
		var b Batch
		for range 1 + rnd.IntN(4) {
			st := Stream{Labels: streams[rnd.IntN(len(streams))]}
			for range 1 + rnd.IntN(5) {
				e := Entry{Time: base + int64(rnd.IntN(100)), Line: fmt.Appendf(nil, "line %d of %q", rnd.IntN(1000), l.name)}
				st.Entries = append(st.Entries, e)
				l.all = append(l.all, kept{st.Labels.enc, e.Time, string(e.Line), ""})
			}
			b = append(b, st)
		}
		if _, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: l.name}); err != nil {
			t.Fatal(err)
		}
	}
}

// yielded collects what an iteration yields, up to most entries.
func yielded(t *testing.T, seq iter.Seq2[Result, error], most int) (all []kept, last Cursor) {
	t.Helper()
	for r, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all, last = append(all, kept{r.Labels.enc, r.Time, string(r.Line), ""}), r.Cursor()
		if len(all) == most {
			break
		}
	}
	return all, last
}

// checkTenant compares each kind of query of a tenant with its entries.
func checkTenantQueries(t *testing.T, s *Store, l *tenantLog) {
	t.Helper()
	want := l.sorted()
	q := Query{Tenant: l.name, Cursors: true}
	got, _ := yielded(t, s.Query(t.Context(), q), 0)
	if !slices.Equal(got, want) {
		t.Fatalf("tenant %q: %d entries, want %d: %v, %v", l.name, len(got), len(want), got, want)
	}
	// By pages, behind cursors.
	q.Limit, got = 7, nil
	for {
		page, last := yielded(t, s.Query(t.Context(), q), 0)
		if got = append(got, page...); len(page) < q.Limit {
			break
		}
		q.After = last
	}
	if !slices.Equal(got, want) {
		t.Errorf("tenant %q: %d entries by pages, want %d", l.name, len(got), len(want))
	}
	for _, sel := range []Selector{
		{{Name: "app", Op: Equal, Value: "api"}}, {{Name: "app", Op: NotEqual, Value: "api"}}, {{Name: "host", Op: Equal}},
		{{Name: "of", Op: Matches, Value: "tenant .*"}}, {{Name: "of", Op: NotMatches, Value: ".+"}}, {{Name: "nothing", Op: NotEqual, Value: "x"}},
	} {
		compiled, _ := sel.compile()
		some := slices.DeleteFunc(slices.Clone(want), func(k kept) bool { return !compiled.matches(Labels{k.labels}) })
		q := Query{Tenant: l.name, Selector: sel}
		if got, _ := yielded(t, s.Query(t.Context(), q), 0); !slices.Equal(got, some) {
			t.Errorf("tenant %q: %v has %d entries, want %d", l.name, sel, len(got), len(some))
		}
		checkTenantSums(t, s, q, some)
	}
	checkTenantSums(t, s, Query{Tenant: l.name}, want)
}

// checkTenantSums compares what is told of entries with the entries.
func checkTenantSums(t *testing.T, s *Store, q Query, want []kept) {
	t.Helper()
	series, names, values := map[string]int64{}, map[string]bool{}, map[string]bool{}
	bytes := int64(0)
	for _, k := range want {
		series[k.labels]++
		bytes += int64(len(k.line))
		for name, value := range (Labels{k.labels}).All() {
			names[name] = true
			if name == "of" {
				values[value] = true
			}
		}
	}
	groups, err := s.Count(t.Context(), q, 0)
	if err != nil || len(groups) != len(series) {
		t.Errorf("%q %v: %d groups, %v; want %d", q.Tenant, q.Selector, len(groups), err, len(series))
	}
	for _, g := range groups {
		if n, _ := g.Total(); n != series[g.Labels.enc] {
			t.Errorf("%q %v: %d entries of %v, want %d", q.Tenant, q.Selector, n, g.Labels, series[g.Labels.enc])
		}
	}
	entries, sum := int64(0), int64(0)
	groups, err = s.Aggregate(t.Context(), q, Aggregation{})
	for _, g := range groups {
		n, b := g.Total()
		entries, sum = entries+n, sum+b
	}
	if err != nil || entries != int64(len(want)) || sum != bytes {
		t.Errorf("%q %v: %d entries with %d bytes, %v; want %d with %d", q.Tenant, q.Selector, entries, sum, err, len(want), bytes)
	}
	fold := &countingFolder{}
	if err := s.Fold(t.Context(), q, func(func(int64) error) Folder { return fold }); err != nil || fold.entries.Load() != int64(len(want)) {
		t.Errorf("%q %v: folds %d, %v; want %d", q.Tenant, q.Selector, fold.entries.Load(), err, len(want))
	}
	list, err := s.Series(t.Context(), q)
	if err != nil || len(list) != len(series) || slices.ContainsFunc(list, func(l Labels) bool { return series[l.enc] == 0 }) {
		t.Errorf("%q %v: series %v, %v; want %d", q.Tenant, q.Selector, list, err, len(series))
	}
	sameKeys(t, q, "names", names)(s.Labels(t.Context(), q))
	sameKeys(t, q, "values", values)(s.LabelValues(t.Context(), "of", q))
}

func sameKeys(t *testing.T, q Query, what string, want map[string]bool) func([]string, error) {
	return func(got []string, err error) {
		t.Helper()
		if err != nil || len(got) != len(want) || slices.ContainsFunc(got, func(s string) bool { return !want[s] }) {
			t.Errorf("%q %v: %s %q, %v; want %v", q.Tenant, q.Selector, what, got, err, want)
		}
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A countingFolder is used by several goroutines at once.
type countingFolder struct{ entries atomic.Int64 }

func (f *countingFolder) Fold(Result) error { f.entries.Add(1); return nil }

// Whatever the entries lie in, each tenant finds its own and nothing of another:
// no line, count, label, value, or stream.
func TestTenantsApart(t *testing.T) {
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		dir, o := t.TempDir(), small()
		o.LateWindow, o.FutureWindow, o.Workers = -1, -1, 1
		logs := []*tenantLog{{name: ""}, {name: "a"}, {name: "b"}, {name: "ab"}, {name: strings.Repeat("n", maxTenant)}, {name: "never"}}
		some := logs[:len(logs)-1]
		s := openTest(t, dir, o)
		check := func() {
			t.Helper()
			for _, l := range logs {
				checkTenantQueries(t, s, l)
			}
		}
		steps := []func(){
			func() { appendRandom(t, s, rnd, some, rnd.Int64N(1000)) },
			func() { appendRandom(t, s, rnd, some[rnd.IntN(len(some)):][:1], rnd.Int64N(1000)) },
			func() { mustDo(t, s.Seal(t.Context())) },
			func() { mustDo(t, s.Compact(t.Context())) },
			func() {
				mustDo(t, s.Close())
				s = openTest(t, dir, o)
			},
		}
		for range 12 {
			steps[rnd.IntN(len(steps))]()
			check()
		}
		mustDo(t, s.Compact(t.Context()))
		check()
		mustDo(t, s.Close())
		if in, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%v, %v", in, err)
		}
	}
}

// A tail and a follower get the entries of their tenant.
func TestTenantsTail(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	now := time.Now().UnixNano()
	l := MustLabels("app", "api")
	add := func(tenant, line string) {
		t.Helper()
		_, err := s.AppendWith(t.Context(), one(l, now, line), AppendOptions{Tenant: tenant})
		mustDo(t, err)
	}
	for _, tenant := range []string{"", "a", "b"} {
		add(tenant, "before of "+tenant)
	}
	follow, stopFollow := iter.Pull2(s.Follow(t.Context(), Query{Tenant: "b"}))
	defer stopFollow()
	if r, err, _ := follow(); err != nil || string(r.Line) != "before of b" {
		t.Fatalf("%q, %v", r.Line, err)
	}
	got := make(chan string)
	for _, tenant := range []string{"", "a"} {
		go func() {
			for r, err := range s.Tail(t.Context(), Query{Tenant: tenant, From: now}) {
				if err != nil {
					break // the store is closed
				}
				got <- string(r.Line)
			}
		}()
	}
	until(t, "all tails are there", func() bool {
		s.reads.tails.mu.Lock()
		defer s.reads.tails.mu.Unlock()
		return len(s.reads.tails.list) == 3
	})
	for _, tenant := range []string{"b", "a", "", "never"} {
		add(tenant, "of "+tenant)
	}
	lines := []string{<-got, <-got}
	slices.Sort(lines)
	if !slices.Equal(lines, []string{"of ", "of a"}) {
		t.Errorf("tails got %q", lines)
	}
	if r, err, _ := follow(); err != nil || string(r.Line) != "of b" {
		t.Errorf("%q, %v", r.Line, err)
	}
	for _, err := range s.Tail(t.Context(), Query{Limit: 1}) {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Error(err)
		}
	}
}

// How late an entry is depends on its own stream, and a tenant without streams in
// memory is forgotten.
func TestTenantsLate(t *testing.T) {
	o := small()
	clock := newTestClock()
	o.Clock = clock
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	add := func(tenant string, at time.Duration) error {
		_, err := s.AppendWith(t.Context(), one(l, clock.at(at), "line"), AppendOptions{Tenant: tenant})
		return err
	}
	mustDo(t, add("a", 0))
	mustDo(t, s.Seal(t.Context()))
	until(t, "the tenant is forgotten", func() bool { return s.tenants.find("a") == nil })
	mustDo(t, add("b", -3*time.Hour))
	mustDo(t, add("", -3*time.Hour))
	if err := add("a", -3*time.Hour); !errors.Is(err, ErrTooOld) {
		t.Errorf("a late entry: %v", err)
	}
	if b := s.tenants.find("b"); b == nil || b == s.tenants.find("a") || s.labels.LenOf(b.number) != 1 {
		t.Errorf("tenant b: %+v", b)
	}
}

// A query goes on in the segment that its tenant's entries have come into.
func TestTenantsHandOver(t *testing.T) {
	o := small()
	o.LateWindow, o.FutureWindow = -1, -1
	s := openTest(t, t.TempDir(), o)
	logs := []*tenantLog{{name: "a"}, {name: ""}, {name: "c"}}
	appendRandom(t, s, rand.New(rand.NewPCG(1, 2)), logs, 0)
	var nexts []func() (Result, error, bool)
	for _, l := range logs {
		next, stop := iter.Pull2(s.Query(t.Context(), Query{Tenant: l.name}))
		defer stop()
		nexts = append(nexts, next)
		if r, err, _ := next(); err != nil || string(r.Line) != l.sorted()[0].line {
			t.Errorf("%q, %v", r.Line, err)
		}
	}
	mustDo(t, s.Compact(t.Context()))
	for i, l := range logs {
		got := []kept{l.all[0]}
		for r, err, more := nexts[i](); more; r, err, more = nexts[i]() {
			mustDo(t, err)
			got = append(got, kept{r.Labels.enc, r.Time, string(r.Line), ""})
		}
		if !slices.Equal(got, l.all) {
			t.Errorf("tenant %q: %d entries, want %d", l.name, len(got), len(l.all))
		}
	}
}

func TestTenantsRefused(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	for _, name := range []string{strings.Repeat("n", maxTenant+1), "\xff"} {
		if _, err := s.AppendWith(t.Context(), nil, AppendOptions{Tenant: name}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("append: %v", err)
		}
		for _, err := range s.Query(t.Context(), Query{Tenant: name}) {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("query: %v", err)
			}
		}
	}
}

// Many tenants of a line each: what the segment of a seal and that of a compaction
// take, and what a query of one of them reads.
func TestTenantsMany(t *testing.T) {
	o := small()
	o.LateWindow = -1
	s := openTest(t, t.TempDir(), o)
	const tenants = 1000
	now := time.Now().UnixNano()
	name := func(i int) string { return fmt.Sprintf("tenant-%04d", i) }
	for round := range 4 {
		for i := range tenants {
			b := one(MustLabels("app", "api", "host", "h"), now+int64(round), fmt.Sprintf("GET /index.html %d", i))
			_, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: name(i)})
			mustDo(t, err)
		}
		mustDo(t, s.Seal(t.Context()))
		t.Logf("%d bytes in %d segments", s.Stats().SegmentBytes, s.Stats().Segments)
	}
	mustDo(t, s.Compact(t.Context()))
	f := s.Stats()
	t.Logf("compacted: %d bytes, %d blocks in %d segments", f.SegmentBytes, f.Blocks, f.Segments)
	if per := f.SegmentBytes / tenants; f.Segments != 1 || f.Blocks != tenants || per > 1000 {
		t.Errorf("%d segments, %d blocks, %d bytes a tenant", f.Segments, f.Blocks, per)
	}
	for i := 0; i < tenants; i += 111 {
		var stats QueryStats
		all, _ := yielded(t, s.Query(t.Context(), Query{Tenant: name(i), Stats: &stats}), 0)
		if len(all) != 4 || !strings.HasSuffix(all[0].line, fmt.Sprintf(" %d", i)) || stats.Blocks.Read != 1 || stats.Groups.Read != 1 {
			t.Errorf("tenant %d: %v, %+v", i, all, stats)
		}
	}
}

// Tenants tells what each tenant has, wherever it lies, by pages.
func TestTenantsListed(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.LateWindow = -1
	s := openTest(t, dir, o)
	if list, err := s.Tenants(t.Context(), "", 10); len(list) != 0 || err != nil {
		t.Errorf("of an empty store: %v, %v", list, err)
	}
	rnd := rand.New(rand.NewPCG(3, 1))
	logs := []*tenantLog{{name: ""}, {name: "a"}, {name: "aa"}, {name: "b"}}
	appendRandom(t, s, rnd, logs, 0)
	mustDo(t, s.Seal(t.Context()))
	appendRandom(t, s, rnd, logs, 500)
	mustDo(t, s.Compact(t.Context()))
	appendRandom(t, s, rnd, logs, 200)
	for page, from := range []string{"", "a\x00"} {
		list, err := s.Tenants(t.Context(), from, 2)
		if errors.Is(err, ErrMore) != (page == 0) || err != nil && page > 0 || len(list) != 2 {
			t.Fatalf("from %q: %+v, %v", from, list, err)
		}
		for i, got := range list {
			l := logs[2*page+i]
			want := TenantInfo{Name: l.name, Entries: int64(len(l.all)), MinTime: l.sorted()[0].time, MaxTime: l.all[len(l.all)-1].time, Streams: 4}
			for _, k := range l.all {
				want.Lines += int64(len(k.line))
			}
			if want.SegmentBytes = got.SegmentBytes; got != want || got.SegmentBytes == 0 {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
	if _, err := s.Tenants(t.Context(), "", 0); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	mustDo(t, s.Seal(t.Context()))
	mustDo(t, s.Close())
	in, err := Inspect(dir)
	if err != nil || in.Index.Tenants != 4 || in.Index.Streams != 16 {
		t.Errorf("%+v, %v", in.Index, err)
	}
}

// An import keeps tenants, goes on for each of them, and takes segments alone.
func TestTenantsImported(t *testing.T) {
	src, to, o := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to"), small()
	o.LateWindow, o.FutureWindow = -1, -1
	rnd := rand.New(rand.NewPCG(5, 1))
	logs := []*tenantLog{{name: "a"}, {name: "b"}, {name: ""}}
	fill := func(base int64, some []*tenantLog) {
		t.Helper()
		s := openTest(t, src, o)
		appendRandom(t, s, rnd, some, base)
		mustDo(t, s.Seal(t.Context()))
		appendRandom(t, s, rnd, some, base+100)
		mustDo(t, s.Close())
	}
	check := func(dir string, kept int64, damaged int) {
		t.Helper()
		progress := int64(0)
		results, err := Import(t.Context(), dir, ImportOptions{store: small(), Memory: minMemory, Progress: func(p ImportProgress) { progress = p.Entries }}, src)
		mustDo(t, err)
		all := int64(0)
		s := openTest(t, dir, small())
		for _, l := range logs {
			checkTenantQueries(t, s, l)
			all += int64(len(l.all))
		}
		mustDo(t, s.Close())
		if r := results[0]; r.Kept != kept || r.Known != all-kept || r.Refused != 0 || r.Damaged != damaged || kept > 0 && progress != all {
			t.Errorf("%+v, progress %d; want %d kept of %d", r, progress, kept, all)
		}
	}
	all := func() (n int64) {
		for _, l := range logs {
			n += int64(len(l.all))
		}
		return n
	}
	fill(0, logs[:1])
	check(to, all(), 0)
	check(to, 0, 0)
	before := all()
	fill(1000, logs)
	check(to, all()-before, 0)
	mustDo(t, os.RemoveAll(filepath.Join(src, logDir)))
	var segments int64
	r := openReadOnlyTest(t, src)
	for _, l := range logs {
		l.all, _ = yielded(t, r.Query(t.Context(), Query{Tenant: l.name}), 0)
		segments += int64(len(l.all))
	}
	mustDo(t, r.Close())
	check(filepath.Join(t.TempDir(), "another"), segments, 1) // the log is not there
}

func openReadOnlyTest(t *testing.T, dir string) *Store {
	t.Helper()
	files, err := segmentFiles(dir)
	mustDo(t, err)
	s, err := OpenSegments(small(), files...)
	mustDo(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}
