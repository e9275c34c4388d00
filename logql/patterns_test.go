package logql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logql/internal/pattern"
	"github.com/stele-go/stele/logstore"
)

// The counts of patterns are those of the lines that pass, in memory and in columns.
func TestPatternsOfFilters(t *testing.T) {
	s, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1, Codec: logstore.CodecColumns})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 2000
	for from := range 2 { // the second half is not sealed
		var entries []logstore.Entry
		for i := from * n / 2; i < (from+1)*n/2; i++ {
			line := fmt.Sprintf("common line %d", i)
			if i%2 == 1 {
				line = fmt.Sprintf(`rare="yes" number=%d`, i)
			}
			entries = append(entries, logstore.Entry{Time: base + int64(i)*1e9, Line: []byte(line)})
		}
		add(t, s, logstore.MustLabels("app", "a"), entries...)
		if err := s.Seal(t.Context()); from == 0 && err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string][]int64{
		`{app="a"} |= "rare"`:              {n / 2},
		`{app="a"} | logfmt | rare="yes"`:  {n / 2},
		`{app="a"} |= "rare" |= "=7"`:      {1 + 5 + 50}, // 7, 7x and 7xx that are odd
		`{app="a"}`:                        {n / 2, n / 2},
		`{app="a"} | logfmt | rare="none"`: nil,
	} {
		patterns, err := NewEngine(s, Options{}).Patterns(t.Context(), PatternsRequest{Selection: Selection{Query: query, Start: base, End: second(n)}, Step: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, p := range patterns {
			got = append(got, p.Total)
			sum := int64(0)
			for _, s := range p.Samples {
				sum += s.Count
			}
			if sum != p.Total {
				t.Errorf("%s: the samples of %q add up to %d; want %d", query, p.Pattern, sum, p.Total)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v; want lines %d", query, patterns, want)
		}
	}
}

// The level is a label of the stream, or metadata of the line.
func TestPatternsByLevel(t *testing.T) {
	s := openStore(t)
	for i := range 6 {
		e := logstore.Entry{Time: base + int64(i)*1e9, Line: fmt.Appendf(nil, "line %d", i)}
		if i < 2 {
			e.Metadata = logstore.MustLabels("detected_level", "error")
		}
		add(t, s, logstore.MustLabels("app", "a", "level", "info"), e)
		add(t, s, logstore.MustLabels("app", "b"), e)
	}
	for range 2 {
		patterns, err := NewEngine(s, Options{}).Patterns(t.Context(), PatternsRequest{Selection: Selection{Query: `{app=~".+"}`, Start: base, End: second(60)}, Step: time.Minute})
		levels := map[string]int64{}
		for _, p := range patterns {
			levels[p.Level] += p.Total
		}
		if want := "map[:4 error:4 info:4]"; err != nil || fmt.Sprint(levels) != want {
			t.Errorf("%v, %v; want %s", levels, err, want)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Patterns of equal texts and levels are one, whatever labels have the level.
func TestPatternsOfOneLevel(t *testing.T) {
	s := openStore(t)
	for i := range 60 {
		e := logstore.Entry{Time: second(i * 10), Line: fmt.Appendf(nil, "line %d", i)}
		add(t, s, logstore.MustLabels("app", "a", "level", "info"), e)
		e.Metadata = logstore.MustLabels("detected_level", "info")
		e.Time += int64(i%2) * 3600e9
		add(t, s, logstore.MustLabels("app", "b"), e)
		add(t, s, logstore.MustLabels("app", "b", "level", "error"), e)
	}
	patterns, err := NewEngine(s, Options{}).Patterns(t.Context(), PatternsRequest{Selection: Selection{Query: `{app=~".+"}`, Start: base, End: second(7200)}, Step: time.Minute})
	if err != nil || len(patterns) != 1 || patterns[0].Level != "info" || patterns[0].Total != 180 {
		t.Fatalf("%+v, %v; want one pattern of 180 lines", patterns, err)
	}
	var want []PatternSample
	for i := range 10 {
		want = append(want, PatternSample{second(60 * i), 6 + 3*2})
	}
	for i := range 10 {
		want = append(want, PatternSample{second(3600 + 60*i), 3 * 2})
	}
	if !slices.Equal(patterns[0].Samples, want) {
		t.Errorf("samples %v; want %v", patterns[0].Samples, want)
	}
}

// The samples of patterns count as memory of the query, those beyond the limit do not.
func TestPatternsMemory(t *testing.T) {
	s := openStore(t)
	const patterns, steps = 40, 200
	for i := range patterns {
		var entries []logstore.Entry
		for step := range steps {
			entries = append(entries, logstore.Entry{Time: second(step * 60), Line: []byte(strings.Repeat("word ", i+1))})
		}
		add(t, s, logstore.MustLabels("app", "a"), entries...)
	}
	e := NewEngine(s, Options{Limits: Limits{Memory: patterns*(patternSumBytes+250) + 2*steps*16}})
	r := PatternsRequest{Selection: Selection{Query: `{app="a"}`, Start: base, End: second(steps * 60), Limit: 2}, Step: time.Minute}
	list, err := e.Patterns(t.Context(), r)
	if err != nil || len(list) != 2 || len(list[0].Samples) != steps || list[0].Total != steps {
		t.Errorf("%d patterns, %v; want 2 with %d samples", len(list), err, steps)
	}
	r.Limit = 0
	var limit *LimitError
	if list, err = e.Patterns(t.Context(), r); !errors.As(err, &limit) || limit.Limit != "Limits.Memory" {
		t.Errorf("%d patterns, %v; want a LimitError of Limits.Memory", len(list), err)
	}
}

// A pattern is a filter, and matches the lines that it has.
func TestPatternsAreFilters(t *testing.T) {
	s := openStore(t)
	var lines []string
	for i := range 200 {
		lines = append(lines,
			fmt.Sprintf("took %5d ms  by worker %d", i*i, i),
			fmt.Sprintf("\tat java.util.List.get(List.java:%d)  ", i),
			fmt.Sprintf("10.0.0.%d, %d %d [x] %d:%d", i, i, i, i, i),
			fmt.Sprintf("usage: tool <name> <_> [<file%d>] </b><br><b_c>x=<a>, <not a name> < <> <a-b> <a.b>", i),
			[]string{"<a>", "<_>", "<a><b>", "<<a>>", "x<a>y<_>z", "<a", "a>", "<_", "_>"}[i%9],
		)
	}
	slices.Sort(lines)
	for i, l := range lines {
		add(t, s, logstore.MustLabels("app", "a"), logstore.Entry{Time: base + int64(i), Line: []byte(l)})
	}
	patterns, err := NewEngine(s, Options{}).Patterns(t.Context(), PatternsRequest{Selection: Selection{Query: `{app="a"}`, Start: base, End: second(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(patterns) < 8 {
		t.Errorf("%d patterns; want one for each kind of line: %+v", len(patterns), patterns)
	}
	total := int64(0)
	for _, p := range patterns {
		total += p.Total
		f, err := pattern.CompileFilter(p.Pattern)
		if err != nil {
			t.Errorf("%q: %v", p.Pattern, err)
			continue
		}
		matched := int64(0)
		for _, l := range lines {
			if f.Match([]byte(l)) {
				matched++
			}
		}
		if matched < p.Total {
			t.Errorf("%q matches %d lines; it has %d", p.Pattern, matched, p.Total)
		}
	}
	if total != int64(len(lines)) {
		t.Errorf("%d lines have patterns; want %d", total, len(lines))
	}
}

func TestPatternFilter(t *testing.T) {
	for text, want := range map[string]string{
		"a <name> b": "a <_> b", "<_><_><_>": "<_>", "<a><_> <b>": "<_> <_>", "<<_>>": "<<_>>", "<1> <a b>": "<1> <a b>",
	} {
		if got := patternFilter(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	patterns, err := NewEngine(s, Options{}).Patterns(context.Background(), PatternsRequest{Selection: Selection{Query: `{job="bare"}`, Start: base, End: second(120)}, Step: time.Minute})
	if err != nil || len(patterns) != 1 || !strings.HasPrefix(patterns[0].Pattern, "plain line <_>") || fmt.Sprint(patterns[0].Samples) != fmt.Sprintf("[{%d 60} {%d 60}]", base, second(60)) {
		t.Errorf("%+v, %v", patterns, err)
	}
	limited, err := NewEngine(s, Options{}).Patterns(context.Background(), PatternsRequest{Selection: Selection{Query: `{app=~".*"}`, Start: base, End: second(120), Limit: 1}})
	if err != nil || len(limited) != 1 {
		t.Errorf("%d patterns, %v; want 1", len(limited), err)
	}
}
