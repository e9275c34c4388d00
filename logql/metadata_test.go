package logql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logql/internal/drain"
	"github.com/stele-go/stele/logstore"
)

var all = Selection{Query: `{env="prod"}`, Start: base, End: second(120)}

func TestNames(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e, ctx := NewEngine(s, Options{}), context.Background()
	if names, err := e.Labels(ctx, all); err != nil || !slices.Equal(names, []string{"app", "env", "job"}) {
		t.Errorf("labels %v, %v", names, err)
	}
	if values, err := e.LabelValues(ctx, "app", all); err != nil || !slices.Equal(values, []string{"api", "web"}) {
		t.Errorf("values %v, %v", values, err)
	}
	if series, err := e.Series(ctx, []string{`{app="api"}`, `{env="prod"}`}, all); err != nil || len(series) != 3 || series[0][0] != (LabelPair{"app", "api"}) {
		t.Errorf("series %v, %v", series, err)
	}
	if stats, err := e.IndexStats(ctx, all); err != nil || stats.Streams != 3 || stats.Entries != 360 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	if labels, err := e.DetectedLabels(ctx, all); err != nil || fmt.Sprint(labels) != "[{app 2} {env 1} {job 1}]" {
		t.Errorf("detected labels %v, %v", labels, err)
	}
}

func TestVolume(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e, ctx := NewEngine(s, Options{}), context.Background()
	for _, c := range []struct {
		r     VolumeRequest
		names []string
	}{
		{VolumeRequest{Selection: all}, []string{"[{env prod}]"}},
		{VolumeRequest{Selection: all, Labels: []string{"app"}}, []string{"[{app api}]", "[{app web}]"}},
		{VolumeRequest{Selection: all, ByName: true}, []string{"[{env }]", "[{app }]", "[{job }]"}},
		{VolumeRequest{Selection: Selection{Query: "{}", Start: base, End: second(120)}}, []string{"[{app api} {env prod}]", "[{app web} {env prod}]", "[{env prod} {job bare}]"}},
	} {
		result, err := e.Volume(ctx, c.r)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range result.Series {
			names = append(names, fmt.Sprint(s.Labels))
		}
		if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(c.names))) {
			t.Errorf("%+v: %v, want %v", c.r, names, c.names)
		}
	}
	result, err := e.VolumeRange(ctx, VolumeRequest{Selection: all, Step: 40 * time.Second})
	if err != nil || len(result.Series) != 1 || len(result.Series[0].Points) != 3 || result.Series[0].Points[0].Time != second(40)-1e6 || result.Series[0].Points[2].Time != second(120) {
		t.Errorf("range %+v, %v", result, err)
	}
}

func TestDetectedFields(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	e, ctx := NewEngine(s, Options{}), context.Background()
	fields, err := e.DetectedFields(ctx, FieldsRequest{Selection: all})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s %s %d %v %v", f.Label, f.Type, f.Cardinality, f.Parsers, f.JSONPath))
	}
	want := []string{"app string 1 [] []", "level string 2 [logfmt] []", "msg string 120 [logfmt] []", "path string 5 [json] [path]",
		"size int 120 [logfmt] []", "status int 4 [json] [status]", "took duration 120 [json] [took]", "trace string 3 [] []"}
	if !slices.Equal(got, want) {
		t.Errorf("fields:\n got %q\nwant %q", got, want)
	}
	values, err := e.DetectedFieldValues(ctx, "status", FieldsRequest{Selection: Selection{Query: `{app="api"} | json`, Start: base, End: second(120)}})
	if err != nil || !slices.Equal(values, []string{"200", "300", "400", "500"}) {
		t.Errorf("values %v, %v", values, err)
	}
}

// Requests about streams have the limits of time and bytes of queries.
func TestMetadataHasLimits(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := all
	part.Start, part.End = second(10), second(20) // so that blocks have to be read
	for name, limits := range map[string]Limits{"Limits.Time": {Time: 1}, "Limits.Bytes": {Bytes: 1}} {
		e, ctx := NewEngine(s, Options{Limits: limits}), t.Context()
		for what, ask := range map[string]func() error{
			"labels": func() error { _, err := e.Labels(ctx, part); return err },
			"values": func() error { _, err := e.LabelValues(ctx, "app", part); return err },
			"series": func() error { _, err := e.Series(ctx, nil, part); return err },
			"stats":  func() error { _, err := e.IndexStats(ctx, part); return err },
			"volume": func() error { _, err := e.Volume(ctx, VolumeRequest{Selection: part}); return err },
			"range": func() error {
				_, err := e.VolumeRange(ctx, VolumeRequest{Selection: part, Step: time.Second})
				return err
			},
			"detected": func() error { _, err := e.DetectedLabels(ctx, part); return err },
			"patterns": func() error { _, err := e.Patterns(ctx, PatternsRequest{Selection: part}); return err },
		} {
			err := ask()
			if limit, ok := errors.AsType[*LimitError](err); !ok || limit.Limit != name {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

// Series of many selectors are those of one list, cut to the limit.
func TestSeriesOfManySelectors(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	limited := all
	limited.Limit = 2
	series, err := NewEngine(s, Options{}).Series(t.Context(), []string{`{job="bare"}`, `{app="web"}`, `{env="prod"}`, `{app="web"}`}, limited)
	if want := "[[{app api} {env prod}] [{app web} {env prod}]]"; err != nil || fmt.Sprint(series) != want {
		t.Errorf("%v, %v; want %s", series, err, want)
	}
}

// The counts of patterns are those of the lines that pass, also where only some are looked at.
func TestPatternsOfFilters(t *testing.T) {
	s := openStore(t)
	var entries []logstore.Entry
	const n = 3 * patternLines
	for i := range n {
		line := fmt.Sprintf("common line %d", i)
		if i%2 == 1 {
			line = fmt.Sprintf(`rare="yes" number=%d`, i)
		}
		entries = append(entries, logstore.Entry{Time: base + int64(i)*1e6, Line: []byte(line)})
	}
	add(t, s, logstore.MustLabels("app", "a"), entries...)
	for query, want := range map[string]int64{`{app="a"} |= "rare"`: n / 2, `{app="a"} | logfmt | rare="yes"`: n / 2, `{app="a"} |= "rare" |= "=7"`: -1, `{app="a"}`: n} {
		patterns, err := NewEngine(s, Options{}).Patterns(t.Context(), PatternsRequest{Selection: Selection{Query: query, Start: base, End: second(n/1000 + 1)}, Step: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			want = 0
			for _, e := range entries {
				if strings.Contains(string(e.Line), "=7") {
					want++
				}
			}
		}
		total := int64(0)
		for _, p := range patterns {
			total += p.Total
		}
		if total < want-2 || total > want+2 { // they are rounded
			t.Errorf("%s: %d lines in %+v; want %d", query, total, patterns, want)
		}
	}
}

// Patterns that become the same text are one row.
func TestPatternsOfOneText(t *testing.T) {
	m := patternMiner{miner: drain.New(drain.Options{}), series: map[patternKey]map[int64]float64{}}
	for i, line := range []string{"alice has 1 car", "alice lost 1 car", "bob has 1 car", "bob lost 1 car", "eve has 1 car here", "7 lost 1 car"} {
		p := m.miner.Add(line)
		m.series[patternKey{p.ID, ""}] = map[int64]float64{int64(i): 1}
	}
	seen := map[string]bool{}
	for _, s := range m.result() {
		if seen[s.Pattern] {
			t.Errorf("%s is told twice", s.Pattern)
		}
		seen[s.Pattern] = true
	}
}

func TestPatterns(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	patterns, err := NewEngine(s, Options{}).Patterns(context.Background(), PatternsRequest{Selection: Selection{Query: `{job="bare"}`, Start: base, End: second(120)}, Step: time.Minute})
	if err != nil || len(patterns) != 1 || patterns[0].Pattern != "plain line <_>" || fmt.Sprint(patterns[0].Samples) != fmt.Sprintf("[{%d 60} {%d 60}]", base, second(60)) {
		t.Errorf("%+v, %v", patterns, err)
	}
}
