package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/internal/testseed"
)

// With a limit the first names, values and series come, with ErrMore if there are
// others, in little memory however many there are; without one, all or an error.
func TestListsAreLimited(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, t.TempDir(), anyTime())
	const streams = 3000 // more than a name may have values in postings
	order := rand.New(rand.NewPCG(testseed.Of(t), 0)).Perm(streams)
	var traces []string
	for i := range streams {
		traces = append(traces, fmt.Sprintf("t%05d", i))
	}
	for i, n := range order {
		mustAppend(t, s, one(MustLabels("app", fmt.Sprint("a", n%3), "trace", traces[n]), int64(n), "line"))
		if i == streams/3 || i == streams/2 {
			if err := s.Seal(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, where := range []string{"both", "segments"} {
		s.reads.memory, s.reads.minBytes, s.reads.sumBytes = semaphore.New(1<<20), 4<<10, 20<<10
		check := func(what string, limit int, got []string, err error, want []string) {
			t.Helper()
			more := limit < len(want)
			if !slices.Equal(got, want[:min(limit, len(want))]) || errors.Is(err, ErrMore) != more || !more && err != nil {
				t.Errorf("%s: %s: %d, %.60q, %v; want %d", where, what, len(got), got, err, min(limit, len(want)))
			}
		}
		for _, limit := range []int{1, 2, 3, 10, 100} {
			names, err := s.Labels(ctx, Query{Limit: limit})
			check("names", limit, names, err, []string{"app", "trace"})
			values, err := s.LabelValues(ctx, "app", Query{Limit: limit})
			check("values of app", limit, values, err, []string{"a0", "a1", "a2"})
			values, err = s.LabelValues(ctx, "trace", Query{Limit: limit})
			check("values of trace", limit, values, err, traces)
			values, err = s.LabelValues(ctx, "trace", Query{Limit: limit, From: 100, To: 2000})
			check("values of trace in a range", limit, values, err, traces[100:2000])
			a1 := Selector{{Name: "app", Value: "a1"}}
			series, err := s.Series(ctx, Query{Limit: limit, Selector: a1, From: 3})
			var got, want []string
			for _, l := range series {
				got = append(got, l.Get("trace"))
			}
			for i := 4; i < streams; i += 3 {
				want = append(want, traces[i])
			}
			check("series", limit, got, err, want)
		}
		checkPages(t, s, where, traces)
		if list, err := s.LabelValues(ctx, "trace", Query{}); !isLimit(err, sumsLimit) || list != nil {
			t.Errorf("%s: all values of trace: %d, %v", where, len(list), err)
		}
		s.reads.sumBytes = 1 << 20
		if list, err := s.LabelValues(ctx, "trace", Query{}); err != nil || !slices.Equal(list, traces) {
			t.Errorf("%s: all values of trace: %d, %v", where, len(list), err)
		}
		if n := s.reads.memory.Free(); n != 1<<20 {
			t.Errorf("%s: %d bytes are free; want %d", where, n, 1<<20)
		}
		if err := s.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Labels(ctx, Query{Filter: Contains("x")}); err != errListFilter {
		t.Errorf("with a filter: %v", err)
	}
	if _, err := s.Series(ctx, Query{Limit: -1}); err == nil || err.Error() != "logstore: Query.Limit: -1; want 0 or more" {
		t.Errorf("with a negative limit: %v", err)
	}
}

// checkPages compares pages of values and of series with all of them, which take
// more memory than a page. want is the values of trace, and app a and b have all.
func checkPages(t *testing.T, s *Store, where string, want []string) {
	t.Helper()
	ctx := context.Background()
	for _, limit := range []int{7, 50} {
		var values []string
		q := Query{Limit: limit, From: 5}
		for more := true; more; {
			page, err := s.LabelValues(ctx, "trace", q)
			if more = errors.Is(err, ErrMore); err != nil && !more {
				t.Fatalf("%s: values behind %v: %v", where, q.After.Labels, err)
			}
			values = append(values, page...)
			q.After.Labels = MustLabels("trace", page[len(page)-1])
		}
		if !slices.Equal(values, want[5:]) {
			t.Errorf("%s: %d values in pages of %d; want %d", where, len(values), limit, len(want)-5)
		}
		var series []Labels
		q.After = Cursor{}
		for more := true; more; {
			page, err := s.Series(ctx, q)
			if more = errors.Is(err, ErrMore); err != nil && !more {
				t.Fatalf("%s: series behind %v: %v", where, q.After.Labels, err)
			}
			series = append(series, page...)
			q.After.Labels = page[len(page)-1]
		}
		values = values[:0]
		for _, l := range series {
			values = append(values, l.Get("trace"))
		}
		slices.Sort(values)
		if sorted := slices.IsSortedFunc(series, Labels.Compare); !sorted || !slices.Equal(values, want[5:]) {
			t.Errorf("%s: %d series in pages of %d, sorted: %t; want %d", where, len(series), limit, sorted, len(want)-5)
		}
	}
}

// After, as Series and LabelValues know it, has nothing but labels.
func TestListsBehind(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, t.TempDir(), anyTime())
	behind := Query{After: Cursor{Labels: MustLabels("app", "a")}}
	if _, err := s.Labels(ctx, behind); err == nil {
		t.Error("Labels takes Query.After")
	}
	if _, err := s.LabelValues(ctx, "host", behind); err == nil {
		t.Error("LabelValues takes Query.After of another label")
	}
	behind.After.Time = 1
	if _, err := s.LabelValues(ctx, "app", behind); err == nil {
		t.Error("LabelValues takes Query.After of an entry")
	}
	if _, err := s.Series(ctx, behind); err == nil {
		t.Error("Series takes Query.After of an entry")
	}
}

// A segment within the range is not asked for its streams one by one.
func TestListsOfWholeSegments(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	a, _ := randomArchive(t, rnd, 40, 1, 10)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, of := range []present{namesOf, valuesOf, streamsOf} {
		p := &presence{of: of, name: "host", compare: strings.Compare}
		partial, err := a.scanAll(context.Background(), Query{}, func(x *search) task {
			p.begin(x, 0)
			return notAsked{p, t}
		})
		if partial != nil || err != nil {
			t.Fatal(partial, err)
		}
		if list, more, err := p.found.result(t.Context()); len(list) < 3 || more || err != nil {
			t.Errorf("%q, %t, %v", list, more, err)
		}
	}
}

type notAsked struct {
	*presence
	t *testing.T
}

func (n notAsked) whole(*reading, streamRef, rowTotals) (bool, error) {
	n.t.Error("a stream is asked for")
	return true, nil
}
func (n notAsked) visit(*reading, leaf, int64, allotment, *outcome) { n.t.Error("a block is read") }
