package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// The fields of these tests are what follows "KEY=" in a line, up to the next blank, where
// that begins a line or follows a blank.
var testKeys = []string{"user", "n", "err", "absent"}

func testField(line []byte, key string) (value []byte, ok bool) {
	for word := range bytes.SplitSeq(line, []byte(" ")) {
		if k, v, ok := bytes.Cut(word, []byte("=")); ok && string(k) == key {
			return v, true
		}
	}
	return nil, false
}

// holeText stands for the variable of a slot: bytes that no template of these tests has.
func holeText(slot int) string { return fmt.Sprintf("\x01%d\x02", slot) }

var blankRule = func() *SlotRule {
	r := new(SlotRule)
	r.Forbidden.Add(' ', ' ')
	r.Forbidden.Add('=', '=')
	r.Doubtful.Add('z', 0xff)
	r.Check = func(v []byte) bool { return len(v)%2 == 0 }
	return r
}()

// testFieldsOf finds the fields in a line of which the variables are holes.
func testFieldsOf(t LineTemplate) (plan FieldPlan, ok bool) {
	var sample strings.Builder
	for i := range t.Slots() + 1 {
		if i > 0 {
			sample.WriteString(holeText(i - 1))
			plan.Rules = append(plan.Rules, blankRule)
		}
		if bytes.ContainsAny(t.Literal(i), "\x01\x02") {
			return plan, false
		}
		sample.Write(t.Literal(i))
	}
	for word := range strings.SplitSeq(sample.String(), " ") {
		if k, _, ok := strings.Cut(word, "="); ok && strings.Contains(k, "\x01") {
			return plan, false
		}
	}
	for _, key := range testKeys {
		v, found := testField([]byte(sample.String()), key)
		f := Field{Absent: !found}
		for i, part := range strings.Split(string(v), "\x01") {
			if slot, rest, ok := strings.Cut(part, "\x02"); i > 0 && ok {
				var n int
				fmt.Sscan(slot, &n)
				f.Pieces = append(f.Pieces, Piece{Slot: n})
				part = rest
			}
			f.Pieces = append(f.Pieces, Piece{Text: []byte(part)})
		}
		plan.Fields = append(plan.Fields, f)
	}
	return plan, true
}

// A fieldTexter keeps entries as texts of their times, streams and fields.
type fieldTexter struct {
	list     []string
	byFields int
	timeless bool
}

func fieldText(time int64, labels Labels, at Cursor, field func(i int) ([]byte, bool)) string {
	text := fmt.Sprint(time, labels, at)
	for i := range testKeys {
		if v, ok := field(i); ok {
			text += fmt.Sprintf(" %s %q", testKeys[i], v)
		}
	}
	return text
}

func (f *fieldTexter) Fold(r Result) error {
	time := r.Time
	if f.timeless {
		time = 0
	}
	f.list = append(f.list, fieldText(time, r.Labels, r.Cursor(), func(i int) ([]byte, bool) { return testField(r.Line, testKeys[i]) }))
	return nil
}

func (f *fieldTexter) FoldFields(b *FieldBatch) error {
	f.byFields += b.Rows
	rows := 0
	for _, run := range b.Runs {
		for row := run.First; row < run.First+run.Rows; row++ {
			time := int64(0)
			if b.Times != nil {
				time = b.Times[row]
			}
			if time != 0 && (time < b.First || time > b.Last) {
				return fmt.Errorf("time %d is not from %d to %d", time, b.First, b.Last)
			}
			f.list = append(f.list, fieldText(time, run.Labels, b.Cursor(&run, row), func(i int) ([]byte, bool) {
				c := &b.Fields[i]
				return c.AppendValue(nil, c.Codes[row]), c.Codes[row] > 0
			}))
			rows++
		}
	}
	if rows != b.Rows || b.Times != nil && rows != len(b.Times) || f.timeless != (b.Times == nil) {
		return fmt.Errorf("%d rows of %d with %d times", rows, b.Rows, len(b.Times))
	}
	return nil
}

// keyLines are lines with the fields of these tests, and others.
func keyLines(r *rand.Rand, n int) []string {
	list := columnLines(r, n)
	odd := []string{"", "a b", "=", "user=x", "0", "\xff", "zz", "\"", "007"}
	for i := range list {
		switch r.IntN(4) {
		case 0:
			list[i] = fmt.Sprintf("user=%s n=%d.%d took", []string{"ann", "bob", "zoë"}[r.IntN(3)], r.IntN(100), r.IntN(10))
		case 1:
			list[i] = fmt.Sprintf("n=%d-%x user=u%d err=none", r.IntN(1000), r.IntN(100), r.IntN(50))
		case 2:
			list[i] = fmt.Sprintf("got n=%s from user=%s", odd[r.IntN(len(odd))], odd[r.IntN(len(odd))])
		}
	}
	return list
}

// foldFields folds by fields, and returns the entries as texts in order.
func foldFields(t *testing.T, s *Store, q Query, timeless bool, needs Filter) (list []string, byFields int) {
	t.Helper()
	var all []*fieldTexter
	var stats QueryStats
	q.Fields, q.Stats = &Fields{Number: len(testKeys), Of: testFieldsOf, Needs: needs}, &stats
	if timeless {
		q.Fields.NoTimes = func(first, last int64) bool { return first <= last }
	}
	err := s.Fold(t.Context(), q, func(func(int64) error) Folder {
		all = append(all, &fieldTexter{timeless: timeless})
		return all[len(all)-1]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		list = append(list, f.list...)
		byFields += f.byFields
	}
	if stats.ByFields != int64(byFields) || stats.Matched != int64(len(list)) {
		t.Errorf("%d of %d entries came by fields; stats say %d of %d", byFields, len(list), stats.ByFields, stats.Matched)
	}
	slices.Sort(list)
	return list, byFields
}

// Fields are those of the lines, wherever the entries are and whatever is asked.
func TestFoldFields(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 31))
	o := columnOptions()
	dir := t.TempDir()
	s := openTest(t, dir, o)
	lines := keyLines(r, 3000)
	clock := int64(0)
	add := func(n int) {
		var b Batch
		for i := range 3 {
			st := Stream{Labels: MustLabels("stream", fmt.Sprint(i))}
			for range n {
				clock++
				e := Entry{Time: clock, Line: []byte(lines[r.IntN(len(lines))])}
				if r.IntN(10) == 0 {
					e.Metadata = MustLabels("trace", "t1")
				}
				st.Entries = append(st.Entries, e)
			}
			b = append(b, st)
		}
		mustAppend(t, s, b)
	}
	total := 0
	for _, codec := range []Codec{CodecColumns, CodecLines, CodecColumns, CodecColumns} {
		mustDo(t, s.Close())
		o.Codec = codec
		s = openTest(t, dir, o)
		add(300)
		mustDo(t, s.Seal(t.Context()))
		add(50)
		total += checkFoldFields(t, r, s, lines, clock)
	}
	_, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "stream", Op: Equal, Value: "1"}}, To: clock / 2, Lines: []LineMatch{{Equal, "user"}}})
	mustDo(t, err)
	total += checkFoldFields(t, r, s, lines, clock)
	if total < 2000 {
		t.Errorf("%d entries came by fields", total)
	}
}

// checkFoldFields compares the fields that random queries give with the lines that they find.
func checkFoldFields(t *testing.T, r *rand.Rand, s *Store, lines []string, end int64) (byFields int) {
	t.Helper()
	for i := range 8 {
		var q Query
		if i > 0 {
			q.From = r.Int64N(end)
			q.To = q.From + r.Int64N(end)
			q.Selector = []Selector{nil, {{Name: "stream", Op: NotEqual, Value: "2"}}}[r.IntN(2)]
			q.Filter = columnFilters(r, lines)
			if r.IntN(3) == 0 {
				q.Filter = nil
			}
		}
		timeless := r.IntN(3) == 0
		q.Cursors = !timeless && r.IntN(2) == 0
		want, f := []string{}, &fieldTexter{timeless: timeless}
		for e, err := range s.Query(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			mustDo(t, f.Fold(e))
		}
		want = append(want, f.list...)
		slices.Sort(want)
		got, n := foldFields(t, s, q, timeless, nil)
		byFields += n
		checkNeeds(t, s, q, timeless, columnFilters(r, lines), want)
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("entry %d of %d is %s; want %s of %d", i, len(got), got[i], want[i], len(want))
				}
			}
			t.Fatalf("%d entries; want %d", len(got), len(want))
		}
	}
	return byFields
}

// checkNeeds checks that a query by fields finds all entries that needs matches, and others
// among those found without it alone, and not with their lines.
func checkNeeds(t *testing.T, s *Store, q Query, timeless bool, needs Filter, found []string) {
	t.Helper()
	left := map[string]int{}
	for _, text := range found {
		left[text]++
	}
	got, byFields := foldFields(t, s, q, timeless, needs)
	for _, text := range got {
		if left[text]--; left[text] < 0 {
			t.Fatalf("%s is not among %d entries", text, len(found))
		}
	}
	must, f := All(needs), &fieldTexter{timeless: timeless}
	if q.Filter != nil {
		must = All(q.Filter, needs)
	}
	q.Filter = must
	for e, err := range s.Query(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		mustDo(t, f.Fold(e))
	}
	has := map[string]int{}
	for _, text := range got {
		has[text]++
	}
	for _, text := range f.list {
		if has[text]--; has[text] < 0 {
			t.Fatalf("%s is lost", text)
		}
	}
	if len(got)-byFields > len(f.list) {
		t.Fatalf("%d entries came with their lines, of %d", len(got)-byFields, len(f.list))
	}
}

// Needs leaves out blocks, and no entry that matches it.
func TestFieldsNeeds(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	for i := range 8 {
		var entries []Entry
		for j := range 100 {
			entries = append(entries, Entry{Time: int64(100*i + j), Line: fmt.Appendf(nil, "user=name%d n=%d", i, j)})
		}
		mustAppend(t, s, Batch{{MustLabels("app", fmt.Sprint(i)), entries}})
		mustDo(t, s.Seal(t.Context()))
	}
	for _, filter := range []Filter{nil, Contains("n=7"), Contains("absent")} {
		for _, name := range []string{"name3", "nobody"} {
			var all []*fieldTexter
			var stats QueryStats
			q := Query{Filter: filter, Stats: &stats, Fields: &Fields{Number: len(testKeys), Of: testFieldsOf, Needs: Word(name)}}
			mustDo(t, s.Fold(t.Context(), q, func(func(int64) error) Folder {
				all = append(all, new(fieldTexter))
				return all[len(all)-1]
			}))
			got, want := 0, 0
			for _, f := range all {
				for _, text := range f.list {
					if strings.Contains(text, name) {
						got++
					}
				}
			}
			for j := range 100 {
				if name == "name3" && (filter == nil || filter.Match(fmt.Appendf(nil, "user=name3 n=%d", j), Labels{})) {
					want++
				}
			}
			if got != want || name == "nobody" && stats.Lines > 0 {
				t.Errorf("%s: %d entries; want %d: %+v", name, got, want, stats)
			}
		}
	}
}

// Of entries that do not come by fields, those that Needs does not match are not passed, and no
// lines of them are made, wherever they are.
func TestFieldsNeedsOfLines(t *testing.T) {
	const all, rare = 4000, 50
	for _, c := range []struct {
		name         string
		codec        Codec
		memory, meta bool
		plan         bool
	}{
		{"lines", CodecLines, false, false, true},
		{"memory", CodecColumns, true, false, true},
		{"no plan", CodecColumns, false, false, false},
		{"metadata", CodecColumns, false, true, true},
		{"metadata, no plan", CodecColumns, false, true, false},
		{"columns", CodecColumns, false, false, true},
	} {
		o := anyTime()
		o.Codec = c.codec
		s := openTest(t, t.TempDir(), o)
		var entries []Entry
		for i := range all {
			e := Entry{Time: int64(i), Line: fmt.Appendf(nil, "user=name n=%d", i)}
			if i%(all/rare) == 0 {
				e.Line = fmt.Appendf(nil, "user=odd n=%d", i)
			}
			if c.meta {
				e.Metadata = MustLabels("trace", fmt.Sprint(i%7))
			}
			entries = append(entries, e)
		}
		mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
		if !c.memory {
			mustDo(t, s.Seal(t.Context()))
		}
		for _, filter := range []Filter{nil, Contains("user")} {
			var folders []*fieldTexter
			var stats QueryStats
			of := testFieldsOf
			if !c.plan {
				of = func(LineTemplate) (FieldPlan, bool) { return FieldPlan{}, false }
			}
			q := Query{Filter: filter, Stats: &stats, Fields: &Fields{Number: len(testKeys), Of: of, Needs: Word("odd")}}
			mustDo(t, s.Fold(t.Context(), q, func(func(int64) error) Folder {
				folders = append(folders, new(fieldTexter))
				return folders[len(folders)-1]
			}))
			passed := 0
			for _, f := range folders {
				passed += len(f.list)
			}
			want, byFields := rare, 0
			if c.name == "columns" {
				want, byFields = all, all
			}
			if passed != want || stats.ByFields != int64(byFields) || stats.Matched != int64(want) || stats.Lines != all {
				t.Errorf("%s: %d entries of %d, %d by fields; want %d: %+v", c.name, passed, stats.Lines, stats.ByFields, want, stats)
			}
			if n := stats.Columns.Rebuilt; n > rare {
				t.Errorf("%s: %d lines were made", c.name, n)
			}
		}
	}
}

// Where each entry has metadata, or the filter matches none, no column is read for fields.
func TestFieldsReadNoColumn(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	for i, meta := range []Labels{MustLabels("trace", "t1"), {}} {
		var entries []Entry
		for j := range 1000 {
			line := fmt.Appendf(nil, "user=name%d n=%d err=e%x", j%11, j, 3*j)
			if j%5 == 0 {
				line = fmt.Appendf(nil, "count %d of %x", j, 7*j)
			}
			entries = append(entries, Entry{Time: int64(1000*i + j), Line: line, Metadata: meta})
		}
		mustAppend(t, s, Batch{{MustLabels("app", fmt.Sprint(i)), entries}})
		mustDo(t, s.Seal(t.Context()))
	}
	fold := func(app string, filter, needs Filter, plans bool) (stats QueryStats) {
		of := testFieldsOf
		if !plans {
			of = func(LineTemplate) (FieldPlan, bool) { return FieldPlan{}, false }
		}
		q := Query{Selector: Selector{{Name: "app", Op: Equal, Value: app}}, Filter: filter, Stats: &stats, Fields: &Fields{Number: len(testKeys), Of: of, Needs: needs}}
		mustDo(t, s.Fold(t.Context(), q, func(func(int64) error) Folder { return new(fieldTexter) }))
		return stats
	}
	for _, c := range []struct {
		app           string
		filter, needs Filter
	}{
		{"0", nil, Contains("count ")},
		{"0", Contains("count "), nil},
		{"1", Contains("name10 n=1 "), nil},
	} {
		got, want := fold(c.app, c.filter, c.needs, true), fold(c.app, c.filter, c.needs, false)
		if got.Blocks.Read == 0 || want.Columns.Skipped == 0 || got.Columns.Opened != want.Columns.Opened || got.ByFields > 0 {
			t.Errorf("app %s: %+v; want those of a query without fields: %+v", c.app, got, want)
		}
	}
}

// A plan that does not fit is an error of the query, and so is a panic.
func TestFieldsWrong(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	var entries []Entry
	for i := range 100 {
		entries = append(entries, Entry{Time: int64(i), Line: fmt.Appendf(nil, "user=%d", i)})
	}
	mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
	mustDo(t, s.Seal(t.Context()))
	fold := func(q Query) error {
		return s.Fold(t.Context(), q, func(func(int64) error) Folder { return new(fieldTexter) })
	}
	of := func(plan FieldPlan) *Fields {
		return &Fields{Number: 1, Of: func(LineTemplate) (FieldPlan, bool) { return plan, true }}
	}
	for name, f := range map[string]*Fields{
		"a plan of 2 fields":  of(FieldPlan{Fields: make([]Field, 2)}),
		"and 2 rules":         of(FieldPlan{Fields: make([]Field, 1), Rules: make([]*SlotRule, 2)}),
		"slot 1 of":           of(FieldPlan{Fields: []Field{{Pieces: []Piece{{Slot: 1}}}}}),
		"slot -1 of":          of(FieldPlan{Fields: []Field{{Pieces: []Piece{{Slot: -1}}}}}),
		"Query.Fields.Of":     {},
		"Query.Fields.Number": {Number: -1, Of: testFieldsOf},
	} {
		if err := fold(Query{Fields: f}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := &Fields{Number: 1, Of: func(LineTemplate) (FieldPlan, bool) { panic("no plan") }}
	if p, ok := errors.AsType[*PanicError](fold(Query{Fields: wrong})); !ok || p.Value != "no plan" {
		t.Error(p)
	}
	_, err := s.Count(t.Context(), Query{Fields: of(FieldPlan{})}, 0)
	for _, err := range []error{err, fold(Query{NoLines: true, Fields: of(FieldPlan{})})} {
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "Query.Fields") {
			t.Error(err)
		}
	}
}
