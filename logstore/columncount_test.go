package logstore

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// A countedEntry is an entry of a store of which all are known.
type countedEntry struct {
	labels Labels
	Entry
}

// countedStore has entries of random lines in a segment of lines, in two of columns, and in
// memory. Both of these have a dictionary of their own.
func countedStore(t *testing.T, r *rand.Rand) (s *Store, lines []string, all []countedEntry) {
	dir := t.TempDir()
	const parts, each = 4, 400
	lines = columnLines(r, parts*each)
	trace := MustLabels("trace", "t1")
	o := Options{Memory: minMemory, MinFree: 1, Codec: CodecLines}
	for part := range parts {
		s = openTest(t, dir, o)
		var b Batch
		for n := range 5 {
			b = append(b, Stream{Labels: MustLabels("app", fmt.Sprint(n%2), "n", fmt.Sprint(n))})
		}
		for i := part * each; i < (part+1)*each; i++ {
			e := Entry{Time: int64(10 * i), Line: []byte(lines[i])}
			if i%9 == 0 {
				e.Metadata = trace
			}
			n := min(r.IntN(9), 4)
			b[n].Entries = append(b[n].Entries, e)
			all = append(all, countedEntry{b[n].Labels, e})
		}
		mustAppend(t, s, b)
		if part == parts-1 {
			break
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Codec = CodecColumns
	}
	return s, lines, all
}

// Counts of lines, of which most are not read, are those of a look at each.
func TestCountColumns(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 31))
	s, lines, all := countedStore(t, r)
	for round := range 240 {
		if round >= 160 && round%20 == 0 {
			all = deleteCounted(t, s, r, all)
		}
		f := columnFilters(r, lines)
		switch r.IntN(8) {
		case 0:
			f = metadataIs(Equal, "t1")
		case 1:
			f = All(f, Not(metadataIs(Equal, "t1")))
		}
		q := Query{Filter: f}
		if r.IntN(3) == 0 {
			q.Selector = Selector{{Name: []string{"app", "n"}[r.IntN(2)], Op: []MatchOp{Equal, NotEqual}[r.IntN(2)], Value: fmt.Sprint(r.IntN(3))}}
		}
		if r.IntN(3) > 0 {
			q.From = r.Int64N(int64(10 * len(lines)))
			q.To = q.From + 1 + r.Int64N(int64(20*len(lines)))
		}
		a := Aggregation{NoBytes: true, Without: r.IntN(4) == 0, Step: []time.Duration{0, 0, 7, 1000, 1e6}[r.IntN(5)]}
		if r.IntN(2) == 0 {
			a.By = []string{[]string{"app", "n", "none"}[r.IntN(3)]}
		}
		if a.Step > 0 {
			a.Offset = time.Duration(r.Int64N(int64(a.Step)))
		}
		want := countEntries(all, q, a)
		groups, err := s.Aggregate(t.Context(), q, a)
		if err != nil {
			t.Fatal(err)
		}
		if got := showGroups(groups); got != want {
			t.Fatalf("%+v by %+v:\n%s\nwant\n%s", q, a, got, want)
		}
		if r.IntN(4) == 0 {
			checkFold(t, s, q, all)
		}
	}
}

// deleteCounted deletes some entries of a stream, and returns the others.
func deleteCounted(t *testing.T, s *Store, r *rand.Rand, all []countedEntry) []countedEntry {
	t.Helper()
	n := fmt.Sprint(r.IntN(5))
	d := Deletion{Selector: Selector{{Name: "n", Op: Equal, Value: n}}, From: r.Int64N(all[len(all)-1].Time)}
	d.To = d.From + 1 + r.Int64N(2000)
	if r.IntN(2) == 0 {
		d.Lines = []LineMatch{{Equal, "e"}}
	}
	mustDelete(t, s, d)
	return slices.DeleteFunc(all, func(e countedEntry) bool {
		return e.labels.Get("n") == n && e.Time >= d.From && e.Time < d.To && (d.Lines == nil || bytes.Contains(e.Line, []byte("e")))
	})
}

// matches reports whether a query finds the entry.
func (e *countedEntry) matches(q Query) bool {
	for _, m := range q.Selector {
		if (e.labels.Get(m.Name) == m.Value) != (m.Op == Equal) {
			return false
		}
	}
	return e.Time >= q.From && (q.To == 0 || e.Time < q.To) && q.Filter.Match(e.Line, e.Metadata)
}

// countEntries is a slow Aggregate.
func countEntries(all []countedEntry, q Query, a Aggregation) string {
	var counts []Group
	for _, e := range all {
		if !e.matches(q) {
			continue
		}
		start := q.From
		if a.Step > 0 {
			start = int64(a.Offset) + (e.Time-int64(a.Offset))/int64(a.Step)*int64(a.Step)
			if e.Time < int64(a.Offset) {
				start = int64(a.Offset) - int64(a.Step)
			}
		}
		counts = append(counts, Group{e.labels, []Bucket{{Start: start, Entries: 1}}})
	}
	return showGroups(aggregated(counts, a))
}

func showGroups(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintln(&b, g.Labels, g.Buckets)
	}
	return b.String()
}

// A rowsFolder keeps what it is passed.
type rowsFolder struct{ rows []string }

func (f *rowsFolder) Fold(r Result) error {
	f.rows = append(f.rows, fmt.Sprint(r.Time, r.Labels, r.Metadata, len(r.Line)))
	return nil
}

// checkFold compares what Fold passes without lines with all entries.
func checkFold(t *testing.T, s *Store, q Query, all []countedEntry) {
	t.Helper()
	q.NoLines = true
	var want, got []string
	for _, e := range all {
		if e.matches(q) {
			want = append(want, fmt.Sprint(e.Time, e.labels, e.Metadata, 0))
		}
	}
	var folders []*rowsFolder
	err := s.Fold(t.Context(), q, func(func(int64) error) Folder {
		folders = append(folders, new(rowsFolder))
		return folders[len(folders)-1]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		got = append(got, f.rows...)
	}
	slices.SortFunc(got, cmp.Compare)
	slices.SortFunc(want, cmp.Compare)
	if !slices.Equal(got, want) {
		t.Fatalf("Fold passes %d entries; want %d", len(got), len(want))
	}
}
