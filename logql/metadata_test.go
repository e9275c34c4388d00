package logql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
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
