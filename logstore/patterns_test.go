package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// patternStore has lines in segments of both codecs and in memory.
func patternStore(t *testing.T, r *rand.Rand) (*Store, []Result) {
	t.Helper()
	dir := t.TempDir()
	o := anyTime()
	var s *Store
	var all []Result
	at := int64(0)
	for i, codec := range []Codec{CodecLines, CodecColumns, CodecColumns} {
		if o.Codec = codec; i < 2 {
			if s != nil {
				mustDo(t, s.Close())
			}
			s = openTest(t, dir, o)
		}
		batch := Batch{{Labels: MustLabels("app", "a", "level", "info")}, {Labels: MustLabels("app", "b")}, {Labels: MustLabels("app", "c")}}
		for _, l := range columnLines(r, 800) {
			at += r.Int64N(100)
			e := Entry{Time: at, Line: []byte(l)}
			if r.IntN(3) == 0 {
				e.Metadata = MustLabels("level", []string{"warn", "error"}[r.IntN(2)], "n", fmt.Sprint(r.IntN(5)))
			}
			st := &batch[r.IntN(len(batch))]
			st.Entries = append(st.Entries, e)
			all = append(all, Result{Labels: st.Labels, Entry: e})
		}
		mustAppend(t, s, batch)
		if i < 2 {
			mustDo(t, s.Seal(t.Context()))
		}
	}
	return s, all
}

// patternSums counts entries by bucket and level.
func patternSums(q Query, a PatternAggregation, all []Result) map[string]int64 {
	sums := map[string]int64{}
	for _, e := range all {
		if e.Time < q.From || q.To > 0 && e.Time >= q.To || q.Filter != nil && !q.Filter.Match(e.Line, e.Metadata) || len(q.Selector) > 0 && !q.Selector.matches(e.Labels) {
			continue
		}
		start := q.From
		if a.Step > 0 {
			start = e.Time - e.Time%int64(a.Step)
		}
		level := ""
		if len(a.By) > 0 {
			if level = e.Labels.Get("level"); level == "" {
				level = e.Metadata.Get("level")
			}
		}
		sums[fmt.Sprint(level, " ", start)]++
	}
	return sums
}

// Each line is counted once, in its bucket, by its level, and its pattern is one that it
// has.
func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	s, all := patternStore(t, r)
	var lines []string
	for _, e := range all {
		lines = append(lines, string(e.Line))
	}
	last := all[len(all)-1].Time
	for i := range 40 {
		var q Query
		var a PatternAggregation
		if i > 0 {
			a.Step = []time.Duration{0, 1000, 50_000}[r.IntN(3)]
			if r.IntN(2) == 0 {
				q.Filter = columnFilters(r, lines)
			}
			if r.IntN(2) == 0 {
				a.By = []string{"level", "level"}
			}
			if r.IntN(2) == 0 {
				q.From = r.Int64N(last)
				q.To = q.From + r.Int64N(last)
			}
			if r.IntN(3) == 0 {
				m, err := Match("app", Equal, []string{"a", "b"}[r.IntN(2)])
				mustDo(t, err)
				q.Selector = Selector{m}
			}
		}
		groups, err := s.Patterns(t.Context(), q, a)
		mustDo(t, err)
		sums, before := map[string]int64{}, int64(1<<62)
		for _, g := range groups {
			if i%10 == 0 {
				checkPattern(t, q, g, all)
			}
			if n := g.total(); n > before {
				t.Errorf("%d lines come after %d", n, before)
			} else {
				before = n
			}
			for _, b := range g.Buckets {
				sums[fmt.Sprint(g.Labels.Get("level"), " ", b.Start)] += b.Entries
			}
		}
		if want := patternSums(q, a, all); fmt.Sprint(sums) != fmt.Sprint(want) {
			t.Fatalf("%+v, %+v: %v; want %v", q, a, sums, want)
		}
	}
}

// checkPattern verifies that as many lines have a pattern as it says.
func checkPattern(t *testing.T, q Query, g PatternGroup, all []Result) {
	t.Helper()
	expr := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(g.Pattern, "\ufffd")), "<_>", ".*") + "$"
	re := regexp.MustCompile(strings.ReplaceAll(expr, "\ufffd", ".*"))
	n := int64(0)
	for _, e := range all {
		if n < g.total() && re.Match(e.Line) {
			n++
		}
	}
	if n < g.total() || g.total() == 0 {
		t.Errorf("%+v: %q has %d lines; %d match it", q, g.Pattern, g.total(), n)
	}
}

// Lines of one kind have one pattern, wherever they are, and the templates of the index
// are those of the lines.
func TestPatternsOfAllCodecs(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	s, all := patternStore(t, r)
	groups, err := s.Patterns(t.Context(), Query{}, PatternAggregation{})
	mustDo(t, err)
	want := map[string]int64{}
	for _, e := range all {
		switch l := string(e.Line); {
		case strings.HasPrefix(l, "GET"):
			want["GET /items/<_> HTTP/<_> <_> took <_> ms"]++
		case l == "the session has ended":
			want[l]++
		case strings.HasPrefix(l, "from"):
			want["from <_>:<_> to /dev/null"]++
		}
	}
	for text, n := range want {
		i := slices.IndexFunc(groups, func(g PatternGroup) bool { return g.Pattern == text })
		if i < 0 || groups[i].total() != n {
			t.Errorf("%q has not %d lines: %+v", text, n, groups)
		}
	}
	// The same without the index, as the range cuts blocks.
	cut, err := s.Patterns(t.Context(), Query{}, PatternAggregation{Step: 10_000})
	mustDo(t, err)
	for i := range groups {
		if cut[i].Pattern != groups[i].Pattern || cut[i].total() != groups[i].total() {
			t.Errorf("in buckets: %d lines have %q; want %d, %q", cut[i].total(), cut[i].Pattern, groups[i].total(), groups[i].Pattern)
		}
	}
}

// Lines of which there are too few for a template have patterns that say what they are,
// wherever they are, and however they are counted.
func TestPatternsWithoutTemplates(t *testing.T) {
	lines := []string{"level=info msg=\"first\" id=17", "level=error msg=\"second\"", "\tat a stack", "\tat a stack"}
	want := "2 \"\\tat a stack\"\n1 \"level=error msg=\\\"second\\\"\"\n1 \"level=info msg=\\\"first\\\" id=<_>\"\n"
	for _, codec := range []Codec{CodecLines, CodecColumns} {
		o := anyTime()
		o.Codec = codec
		s := openTest(t, t.TempDir(), o)
		var entries []Entry
		for i, l := range lines {
			entries = append(entries, Entry{Time: int64(i), Line: []byte(l)})
		}
		mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
		for sealed := range 2 {
			for _, a := range []PatternAggregation{{}, {Step: 3}, {By: []string{"app"}}} {
				for _, f := range []Filter{nil, Contains("e")} {
					groups, err := s.Patterns(t.Context(), Query{Filter: f}, a)
					mustDo(t, err)
					got, want := "", want
					for _, g := range groups {
						got += fmt.Sprintf("%d %q\n", g.total(), g.Pattern)
					}
					if f != nil {
						_, want, _ = strings.Cut(want, "\n") // a stack has no e
					}
					if got != want {
						t.Errorf("%v, sealed %d, %+v, filter %v:\n%s; want\n%s", codec, sealed, a, f, got, want)
					}
				}
			}
			mustDo(t, s.Seal(t.Context()))
		}
	}
}

// Lines without a template get outlines, but not too many, and not so many that other patterns
// have no memory.
func TestOutlinesAreBounded(t *testing.T) {
	outlines := func(memory int64) (n int) {
		a := &allowance{pool: &readPool{sumBytes: memory}}
		a.allowed.Store(memory)
		g := newPatternGroups(a)
		for i := range 2 * maxOutlines {
			number, ok, err := g.outline(fmt.Append(nil, i))
			mustDo(t, err)
			if ok && int(number) != i {
				t.Fatalf("outline %d has the number %d", i, number)
			}
			if ok {
				n++
			}
		}
		if number, ok, _ := g.outline([]byte("7")); !ok || number != 7 {
			t.Errorf("outline 7 has the number %d, %v", number, ok)
		}
		return n
	}
	if n := outlines(64 << 20); n != maxOutlines {
		t.Errorf("%d outlines; want %d", n, maxOutlines)
	}
	if n := outlines(64 << 10); n < 100 || n > 32<<10/64+1 {
		t.Errorf("%d outlines in half of 64 KiB", n)
	}
}

// Without a filter no line is read, and what is in one bucket is known from the index.
func TestPatternsReadNoLines(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	var entries []Entry
	for i := range 1000 {
		entries = append(entries, Entry{Time: int64(i), Line: fmt.Appendf(nil, "user %d has left", i)})
	}
	mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
	mustDo(t, s.Seal(t.Context()))
	for step, blocks := range map[time.Duration]int64{0: 0, 100: 1} {
		var stats QueryStats
		groups, err := s.Patterns(t.Context(), Query{Stats: &stats}, PatternAggregation{Step: step})
		if err != nil || len(groups) != 1 || groups[0].Pattern != "user <_> has left" || groups[0].total() != 1000 {
			t.Errorf("%+v, %v", groups, err)
		}
		if stats.Blocks.Read != blocks || stats.RawBytes != 0 {
			t.Errorf("step %d: %d blocks are read, and %d bytes of lines; want %d and 0", step, stats.Blocks.Read, stats.RawBytes, blocks)
		}
	}
}

// Deleted lines are not counted.
func TestPatternsOfDeletedLines(t *testing.T) {
	s, all := patternStore(t, rand.New(rand.NewPCG(35, 36)))
	m, err := Match("app", Equal, "b")
	mustDo(t, err)
	from, to := all[300].Time, all[2000].Time
	_, err = s.Delete(t.Context(), Deletion{Selector: Selector{m}, From: from, To: to})
	mustDo(t, err)
	all = slices.DeleteFunc(all, func(e Result) bool { return e.Labels.Get("app") == "b" && e.Time >= from && e.Time < to })
	for _, a := range []PatternAggregation{{}, {Step: 1000}} {
		groups, err := s.Patterns(t.Context(), Query{}, a)
		mustDo(t, err)
		total := int64(0)
		for _, g := range groups {
			checkPattern(t, Query{}, g, all)
			total += g.total()
		}
		if total != int64(len(all)) {
			t.Errorf("%d lines; want %d", total, len(all))
		}
	}
}

// A damaged block is told, and the others are counted; a damaged dictionary has a copy.
func TestPatternsOfDamage(t *testing.T) {
	lines := columnLines(rand.New(rand.NewPCG(37, 38)), 45_000)
	for i := 0; i < len(lines); i += 1000 { // without a template, in each block
		lines[i] = strings.Repeat("(", i/1000) + "alone"
	}
	dir, file := sealedColumns(t, lines)
	count := func(a PatternAggregation) (n int64, damaged bool) {
		groups, err := openReadOnlyTest(t, dir).Patterns(t.Context(), Query{}, a)
		for _, g := range groups {
			n += g.total()
		}
		if _, damaged = errors.AsType[*CorruptError](err); err != nil && !damaged {
			t.Fatal(err)
		}
		return n, damaged
	}
	flipSection(t, file, "dictionary")
	if n, damaged := count(PatternAggregation{Step: 1000}); n != int64(len(lines)) || damaged {
		t.Errorf("%d lines, damage %v; want all %d: the dictionary has a copy", n, damaged, len(lines))
	}
	flipBlock(t, file, 1)
	if n, damaged := count(PatternAggregation{Step: 1000}); n == 0 || n >= int64(len(lines)) || !damaged {
		t.Errorf("%d lines of %d, damage %v; want some, and damage", n, len(lines), damaged)
	}
	if n, damaged := count(PatternAggregation{}); n != int64(len(lines)) || damaged {
		t.Errorf("%d lines, damage %v; want all %d, from the index", n, damaged, len(lines))
	}
}

// A result that would take more memory than it may is an error.
func TestPatternsMemory(t *testing.T) {
	s := openTest(t, t.TempDir(), columnOptions())
	for sealed := range 2 {
		var b Batch
		for i := range 500 {
			line := strings.Repeat("x", i+1)
			b = append(b, Stream{MustLabels("n", fmt.Sprint(i)), slices.Repeat([]Entry{{Time: int64(i), Line: []byte(line)}}, 4)})
		}
		mustAppend(t, s, b)
		for _, sums := range []int64{4 << 20, 64 << 10} {
			sumBytes, minBytes, memory := s.reads.sumBytes, s.reads.minBytes, s.reads.memory
			s.reads.sumBytes, s.reads.minBytes, s.reads.memory = sums, 16<<10, semaphore.New(8<<20)
			groups, err := s.Patterns(t.Context(), Query{}, PatternAggregation{By: []string{"n"}})
			if full := isLimit(err, sumsLimit); full != (sums < 1<<20) || !full && (err != nil || len(groups) != 500) {
				t.Errorf("sealed %d, with %d bytes: %d groups, %v", sealed, sums, len(groups), err)
			}
			if n := s.reads.memory.Free(); n != 8<<20 {
				t.Errorf("%d bytes are free at the end; want all", n)
			}
			s.reads.sumBytes, s.reads.minBytes, s.reads.memory = sumBytes, minBytes, memory
		}
		mustDo(t, s.Seal(t.Context()))
	}
}

func TestPatternsRefuses(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for want, a := range map[string]PatternAggregation{
		"logstore: PatternAggregation.Step: -1ns; want 0s or more":                                             {Step: -1},
		"logstore: PatternAggregation.Offset: 2ns; want 0 or more, and less than PatternAggregation.Step, 2ns": {Step: 2, Offset: 2},
		`logstore: PatternAggregation.By: [a ]; want names of labels, none of them empty`:                      {By: []string{"a", ""}},
	} {
		if _, err := s.Patterns(t.Context(), Query{}, a); err == nil || err.Error() != want {
			t.Errorf("%+v: the error is %q; want %q", a, err, want)
		}
	}
}
