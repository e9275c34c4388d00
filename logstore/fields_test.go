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

func fieldText(time int64, labels Labels, field func(i int) ([]byte, bool)) string {
	text := fmt.Sprint(time, labels)
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
	f.list = append(f.list, fieldText(time, r.Labels, func(i int) ([]byte, bool) { return testField(r.Line, testKeys[i]) }))
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
			f.list = append(f.list, fieldText(time, run.Labels, func(i int) ([]byte, bool) {
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
func foldFields(t *testing.T, s *Store, q Query, timeless bool) (list []string, byFields int) {
	t.Helper()
	var all []*fieldTexter
	var stats QueryStats
	q.Fields, q.Stats = &Fields{Number: len(testKeys), Of: testFieldsOf}, &stats
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
	o := anyTime()
	o.Codec = CodecColumns
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
		want, f := []string{}, &fieldTexter{timeless: timeless}
		for e, err := range s.Query(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			mustDo(t, f.Fold(e))
		}
		want = append(want, f.list...)
		slices.Sort(want)
		got, n := foldFields(t, s, q, timeless)
		byFields += n
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

// Needs leaves out blocks, and no entry that matches it.
func TestFieldsNeeds(t *testing.T) {
	o := anyTime()
	o.Codec = CodecColumns
	s := openTest(t, t.TempDir(), o)
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

// A plan that does not fit is an error of the query, and so is a panic.
func TestFieldsWrong(t *testing.T) {
	o := anyTime()
	o.Codec = CodecColumns
	s := openTest(t, t.TempDir(), o)
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
