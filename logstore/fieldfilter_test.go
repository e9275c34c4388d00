package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// A keyMatcher matches entries by a field of testKeys: of streams that end in other digits than
// its own, of which it misses some.
type keyMatcher struct {
	key    int
	digit  byte
	odd    bool // a field that an entry lacks matches
	judged *atomic.Int64
	labels Labels
}

func (m *keyMatcher) Stream(labels Labels) bool {
	m.labels = labels
	return !strings.HasSuffix(labels.Get("stream"), string(m.digit))
}

func (m *keyMatcher) Match(_ int64, line []byte, metadata Labels) bool {
	value, ok := testField(line, testKeys[m.key])
	return m.is(value, ok) || metadata.Len() > 0 && m.odd
}

func (m *keyMatcher) is(value []byte, ok bool) bool {
	if !ok {
		return m.odd
	}
	return strings.IndexByte(string(value), m.digit) >= 0
}

func (m *keyMatcher) MatchFields(b *FieldBatch, matching []uint64) {
	if b.ids != nil || b.Times != nil {
		panic("a batch for a FieldMatcher has times or positions")
	}
	c := &b.Fields[m.key]
	for _, run := range b.Runs {
		on := m.Stream(run.Labels)
		for row := run.First; row < run.First+run.Rows && on; row++ {
			if m.is(c.AppendValue(nil, c.Codes[row]), c.Codes[row] > 0) {
				matching[row/64] |= 1 << (row % 64)
			}
		}
	}
	m.judged.Add(int64(b.Rows))
}

// fieldFilter returns the filter of a keyMatcher.
func fieldFilter(t *testing.T, m keyMatcher, needs Filter) Filter {
	t.Helper()
	f, err := FieldFilter(Fields{Number: len(testKeys), Of: testFieldsOf, Needs: needs}, func() FieldMatcher { own := m; return &own })
	mustDo(t, err)
	return f
}

func entryFilterOf(m keyMatcher) Filter {
	return EntryFilter(func() EntryMatcher { own := m; return &own })
}

// A filter by fields finds the entries that it finds by lines, in their order, wherever they are
// and whatever filter it is within.
func TestFieldFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 51))
	o := anyTime()
	dir := t.TempDir()
	lines := keyLines(r, 2000)
	var s *Store
	clock := int64(0)
	for _, codec := range []Codec{CodecColumns, CodecLines, CodecColumns} {
		if s != nil {
			mustDo(t, s.Close())
		}
		o.Codec = codec
		s = openTest(t, dir, o)
		for _, n := range []int{700, 60} {
			var b Batch
			for i := range 3 {
				st := Stream{Labels: MustLabels("stream", fmt.Sprint(i))}
				for range n {
					clock += r.Int64N(2)
					e := Entry{Time: clock, Line: []byte(lines[r.IntN(len(lines))])}
					if r.IntN(10) == 0 {
						e.Metadata = MustLabels("trace", "t1")
					}
					st.Entries = append(st.Entries, e)
				}
				b = append(b, st)
			}
			mustAppend(t, s, b)
			if n == 700 {
				mustDo(t, s.Seal(t.Context()))
			}
		}
	}
	var judged atomic.Int64
	found := 0
	for i := range 60 {
		if i == 40 {
			_, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "stream", Op: Equal, Value: "1"}}, To: clock / 2, Lines: []LineMatch{{Equal, "user"}}})
			mustDo(t, err)
		}
		found += checkFieldFilter(t, r, s, lines, clock, &judged)
	}
	if found < 3000 || judged.Load() < 10_000 {
		t.Errorf("%d entries found, %d judged: the test says too little", found, judged.Load())
	}
}

// checkFieldFilter compares what a random query finds by fields with what it finds by lines.
func checkFieldFilter(t *testing.T, r *rand.Rand, s *Store, lines []string, end int64, judged *atomic.Int64) int {
	t.Helper()
	m := keyMatcher{key: r.IntN(len(testKeys)), digit: byte('0' + r.IntN(10)), odd: r.IntN(4) == 0, judged: judged}
	var needs Filter
	if !m.odd && r.IntN(2) == 0 {
		needs = All(Contains(testKeys[m.key]+"="), Contains(string(m.digit)))
	}
	byField, byLine := fieldFilter(t, m, needs), entryFilterOf(m)
	other := columnFilters(r, lines)
	switch r.IntN(7) {
	case 0, 1:
		byField, byLine = All(other, byField), All(other, byLine)
	case 2:
		byField, byLine = All(All(byField, other), Contains("n")), All(All(byLine, other), Contains("n"))
	case 3:
		byField, byLine = Any(other, byField), Any(other, byLine)
	case 4:
		n := m
		n.key = 1
		byField, byLine = All(byField, fieldFilter(t, n, nil)), All(byLine, entryFilterOf(n))
	case 5:
		byField, byLine = Not(byField), Not(byLine)
	}
	q := Query{Order: Order(r.IntN(2)), Limit: r.IntN(2) * r.IntN(40), Cursors: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		q.From = r.Int64N(end)
		q.To = q.From + r.Int64N(end)
		q.Selector = Selector{{Name: "stream", Op: NotEqual, Value: "2"}}
	}
	list := func(f Filter) (list []string) {
		q.Filter = f
		for e, err := range s.Query(t.Context(), q) {
			mustDo(t, err)
			list = append(list, fmt.Sprintf("%d %s %q %s %s", e.Time, e.Labels, e.Line, e.Metadata, e.Cursor()))
		}
		return list
	}
	got, want := list(byField), list(byLine)
	if !slices.Equal(got, want) {
		t.Fatalf("%+v, limit %d: %d entries; want %d", m, q.Limit, len(got), len(want))
	}
	q.Order, q.Limit, q.Cursors = Forward, 0, false
	want = list(byLine)
	for _, noLines := range []bool{false, true} {
		q.Filter, q.NoLines = byField, noLines
		var folders []*countingFolder
		mustDo(t, s.Fold(t.Context(), q, func(func(int64) error) Folder {
			folders = append(folders, new(countingFolder))
			return folders[len(folders)-1]
		}))
		n := 0
		for _, f := range folders {
			n += int(f.entries.Load())
		}
		if n != len(want) {
			t.Fatalf("%+v: %d entries folded, without lines %v; want %d", m, n, noLines, len(want))
		}
	}
	return len(got)
}

// The own FieldMatcher is asked, also if that of Needs is one too.
func TestFieldFilterNeedsFields(t *testing.T) {
	s, _ := columnStore(t, 1000)
	var judged, other atomic.Int64
	needs := fieldFilter(t, keyMatcher{key: 3, odd: true, judged: &other}, nil)
	ask := func(f Filter) (n int) {
		for _, err := range s.Query(t.Context(), Query{Filter: f}) {
			mustDo(t, err)
			n++
		}
		return n
	}
	if n := ask(needs); n != 1000 {
		t.Fatalf("%d entries meet Needs; want all", n)
	}
	other.Store(0)
	if n := ask(fieldFilter(t, keyMatcher{key: 0, digit: '9', judged: &judged}, needs)); n != 1000/50 {
		t.Errorf("%d entries; want %d", n, 1000/50)
	}
	if judged.Load() != 1000 || other.Load() != 0 {
		t.Errorf("%d rows were judged, and %d by that of Needs; want 1000, and none", judged.Load(), other.Load())
	}
}

// columnStore has lines in blocks of columns, of which one in 50 has the user odd, and a file of
// its segment.
func columnStore(t *testing.T, lines int) (s *Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	s = openTest(t, dir, columnOptions())
	var texts []string
	for i := range lines {
		user := "name"
		if i%50 == 0 {
			user = "odd9"
		}
		texts = append(texts, fmt.Sprintf("user=%s n=%d err=e%x at %d", user, i, 3*i, 7*i))
	}
	mustAppendLines(t, s, texts, 1)
	mustDo(t, s.Seal(t.Context()))
	return s, dir
}

// Lines of entries that do not match are not made, and none are if nobody reads them.
func TestFieldFilterMakesNoOtherLine(t *testing.T) {
	const lines = 5000
	s, _ := columnStore(t, lines)
	var judged atomic.Int64
	f := fieldFilter(t, keyMatcher{key: 0, digit: '9', judged: &judged}, nil)
	for _, noLines := range []bool{false, true} {
		var stats QueryStats
		mustDo(t, s.Fold(t.Context(), Query{Filter: f, NoLines: noLines, Stats: &stats}, func(func(int64) error) Folder { return new(countingFolder) }))
		want := int64(lines / 50)
		if noLines {
			want = 0
		}
		if stats.Columns.Rebuilt != want || stats.Matched != lines/50 || stats.Lines != lines || stats.ByFields != lines-lines/50 {
			t.Errorf("without lines %v: %+v; want %d lines made", noLines, stats, want)
		}
	}
	if judged.Load() != 2*lines {
		t.Errorf("%d entries were judged; want %d", judged.Load(), 2*lines)
	}
}

// Where a filter beside it leaves few rows, or none, their lines are cheaper than columns of the
// whole block: no others are read, by filters and by Query.Fields.
func TestFieldsOfFewRows(t *testing.T) {
	s, _ := columnStore(t, 5000)
	var judged atomic.Int64
	m := keyMatcher{key: 2, digit: 'e', judged: &judged}
	for _, part := range []string{" n=4711 ", "dd9 n=40"} {
		ask := func(q Query) (stats QueryStats) {
			q.Stats = &stats
			mustDo(t, s.Fold(t.Context(), q, func(func(int64) error) Folder { return new(fieldTexter) }))
			return stats
		}
		want := ask(Query{Filter: Contains(part)})
		if want.Matched == 0 {
			t.Fatalf("no line has %q", part)
		}
		for name, q := range map[string]Query{
			"filter": {Filter: All(Contains(part), fieldFilter(t, m, nil))},
			"fields": {Filter: Contains(part), Fields: &Fields{Number: len(testKeys), Of: testFieldsOf}},
		} {
			got := ask(q)
			if got.Columns.Opened > want.Columns.Opened || got.Columns.Rebuilt > want.Columns.Rebuilt || got.Matched != want.Matched {
				t.Errorf("%q, %s: %+v; want no more columns than by lines: %+v", part, name, got.Columns, want.Columns)
			}
		}
	}
	if n := judged.Load(); n > 0 {
		t.Errorf("%d rows were judged by fields", n)
	}
}

// Of a damaged column, or of a lost dictionary, it tells what a filter by lines tells.
func TestFieldFilterDamage(t *testing.T) {
	s, dir := columnStore(t, 3000)
	mustDo(t, s.Close())
	file := mustFindSegments(t, dir, 1)[0]
	whole, err := os.ReadFile(file)
	mustDo(t, err)
	m := keyMatcher{key: 1, digit: '7', judged: new(atomic.Int64)}
	check := func(what string) (failed bool) {
		s, err := OpenReadOnly(dir, Options{})
		if err != nil {
			return false
		}
		defer s.Close()
		<-s.Ready()
		ask := func(f Filter) (n int, failed bool) {
			for _, err := range s.Query(t.Context(), Query{Filter: f}) {
				if err != nil {
					failed = true
					continue
				}
				n++
			}
			return n, failed
		}
		n, failed := ask(fieldFilter(t, m, nil))
		if want, wantFailed := ask(entryFilterOf(m)); n != want || failed != wantFailed {
			t.Errorf("%s: %d entries, an error %v; want %d, %v", what, n, failed, want, wantFailed)
		}
		return failed
	}
	seen := 0
	for at := len(whole) / 40; at < len(whole)/2; at += len(whole) / 40 {
		broken := slices.Clone(whole)
		broken[at] ^= 0x55
		mustDo(t, os.WriteFile(file, broken, 0o600))
		if check(fmt.Sprintf("byte %d", at)) {
			seen++
		}
	}
	if seen == 0 {
		t.Error("no query saw a damaged byte")
	}
	mustDo(t, os.WriteFile(file, whole, 0o600))
	flipSection(t, file, "dictionary")
	flipSection(t, file, "dictionary frame")
	if !check("dictionary") {
		t.Error("no query saw that the dictionary is lost")
	}
}

func TestFieldFilterWrong(t *testing.T) {
	begin := func() FieldMatcher { return &keyMatcher{} }
	for name, f := range map[string]Fields{
		"Fields.Number":  {Number: -1, Of: testFieldsOf},
		"Fields.Of":      {},
		"Fields.NoTimes": {Of: testFieldsOf, NoTimes: func(int64, int64) bool { return true }},
	} {
		if _, err := FieldFilter(f, begin); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, _ := columnStore(t, 100)
	ask := func(f Fields) (err error) {
		filter, wrong := FieldFilter(f, func() FieldMatcher { return &keyMatcher{key: 3} }) // without a counter: it panics
		mustDo(t, wrong)
		for _, failed := range s.Query(t.Context(), Query{Filter: filter}) {
			err = errors.Join(err, failed)
		}
		return err
	}
	if err := ask(Fields{Number: 1, Of: testFieldsOf}); err == nil || !strings.Contains(err.Error(), "FieldFilter: Fields.Of: a plan of 4 fields") {
		t.Error(err)
	}
	if p, ok := errors.AsType[*PanicError](ask(Fields{Number: len(testKeys), Of: testFieldsOf})); !ok {
		t.Error(p)
	}
	panics := func(LineTemplate) (FieldPlan, bool) { panic("no plan") }
	if err := ask(Fields{Of: panics}); err == nil || !strings.Contains(err.Error(), "FieldFilter: Fields.Of panicked: no plan") {
		t.Error(err)
	}
}
