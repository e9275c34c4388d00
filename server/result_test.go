package server

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
)

func manyLines(n int, shared bool) []logql.Line {
	lines := make([]logql.Line, n)
	streams := make([][]logql.LabelPair, 10)
	for i := range streams {
		streams[i] = []logql.LabelPair{{Name: "app", Value: fmt.Sprint("app", i)}, {Name: "env", Value: "prod"}}
	}
	for i := range lines {
		lines[i] = logql.Line{Time: second(i), Text: `level=info ts=2024-05-01T10:00:00.123Z caller=http.go:123 msg="request done" method=GET path=/api/v1/things/4711 status=200`, Stream: streams[i%10]}
		if !shared {
			lines[i].Stream = append([]logql.LabelPair{}, streams[i%10]...)
		}
	}
	return lines
}

// Streams have each line once, in order, whether or not lines share their labels.
func TestGroups(t *testing.T) {
	for _, shared := range []bool{true, false} {
		lines := manyLines(1000, shared)
		g := groupLines(lines, false)
		seen := 0
		for i, group := range g.groups {
			if got, want := group.labels[0].Value, fmt.Sprint("app", i); got != want {
				t.Errorf("group %d is %s", i, got)
			}
			before := int32(-1)
			for i := group.first; i >= 0; i = g.next[i] {
				if i <= before || lines[i].Stream[0] != group.labels[0] {
					t.Fatalf("line %d of %v follows %d", i, group.labels, before)
				}
				before = i
				seen++
			}
		}
		if len(g.groups) != 10 || seen != len(lines) {
			t.Errorf("%d groups with %d lines", len(g.groups), seen)
		}
	}
}

// Runs keep the order of all lines, and share the labels of neighbours.
func TestRuns(t *testing.T) {
	a, b := []logql.LabelPair{{Name: "a", Value: "1"}}, []logql.LabelPair{{Name: "a", Value: "2"}}
	lines := []logql.Line{{Time: 1, Stream: b}, {Time: 2, Stream: a}, {Time: 3, Stream: a}, {Time: 4, Stream: b}}
	g := groupRuns(lines, false)
	var times []int64
	for _, group := range g.groups {
		for i := group.first; i >= 0; i = g.next[i] {
			times = append(times, lines[i].Time)
		}
	}
	if fmt.Sprint(times) != "[1 2 3 4]" || len(g.groups) != 3 {
		t.Errorf("times %v in %d groups", times, len(g.groups))
	}
}

// Labels whose bytes are equal when they are joined are different sets.
func TestGroupsByLabelsThatLookAlike(t *testing.T) {
	lines := []logql.Line{
		{Stream: []logql.LabelPair{{Name: "a", Value: "bc"}}},
		{Stream: []logql.LabelPair{{Name: "ab", Value: "c"}}},
		{Stream: []logql.LabelPair{{Name: "a", Value: "b"}, {Name: "c", Value: ""}}},
		{Stream: nil},
		{Stream: []logql.LabelPair{{Name: "a", Value: strings.Repeat("x", 300)}}},
	}
	if g := groupLines(lines, false); len(g.groups) != len(lines) {
		t.Errorf("%d groups; want %d", len(g.groups), len(lines))
	}
}

// A result is written without an allocation for a line.
func TestResultAllocations(t *testing.T) {
	w := lokijson.New(io.Discard)
	r := &logql.Result{Lines: manyLines(5000, false)}
	n := testing.AllocsPerRun(10, func() { w.Reset(io.Discard); writeResult(w, r, false) })
	if n > 300 {
		t.Errorf("%.0f allocations for 5,000 lines", n)
	}
}

func BenchmarkResult(b *testing.B) {
	for _, writer := range []string{"stele", "encoding-json"} {
		b.Run("writer="+writer, func(b *testing.B) {
			r := &logql.Result{Lines: manyLines(5000, true)}
			w := lokijson.New(io.Discard)
			begun := time.Now()
			for b.Loop() {
				if writer == "stele" {
					w.Reset(io.Discard)
					writeResult(w, r, false)
					continue
				}
				type stream struct {
					Stream map[string]string `json:"stream"`
					Values [][2]string       `json:"values"`
				}
				index := map[string]*stream{}
				var list []*stream
				for _, l := range r.Lines {
					s := index[l.Stream[0].Value]
					if s == nil {
						s = &stream{Stream: map[string]string{}}
						for _, p := range l.Stream {
							s.Stream[p.Name] = p.Value
						}
						index[l.Stream[0].Value] = s
						list = append(list, s)
					}
					s.Values = append(s.Values, [2]string{fmt.Sprint(l.Time), l.Text})
				}
				if err := json.NewEncoder(io.Discard).Encode(list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(time.Since(begun).Nanoseconds())/float64(b.N)/5000, "ns/line")
		})
	}
}
