package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// On the axis of the percentiles each nine is as wide as the one before.
func TestTailAxis(t *testing.T) {
	for q, want := range map[float64]float64{0: 0, 0.9: 1, 0.99: 2, 0.999: 3} {
		if got := nines(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v stands at %v, want %v", q, got, want)
		}
	}
	if got := percentileTicks(3.2); len(got) != 4 || got[0] != 0.5 || math.Abs(got[3]-0.999) > 1e-12 {
		t.Errorf("%v", got)
	}
}

// A curve ends where there are no more operations, and is finite there.
func TestTailEnds(t *testing.T) {
	res := runtest.Sample().Results[0]
	list := latencyCharts(res)
	if len(list) != 2 {
		t.Fatalf("%d charts for two promises", len(list))
	}
	for _, c := range list {
		s := string(c.Picture)
		if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, ">p50<") || !strings.Contains(s, ">p90<") {
			t.Errorf("%s", s)
		}
	}
	if !strings.Contains(string(list[0].Picture), ">p99.9<") {
		t.Error("thousands of operations, and no p99.9")
	}
	h := run.NewHistogram()
	for i := range 20000 {
		h.Record(int64(1000 + i*7%9000))
	}
	h.Record(5e6)
	points := thinTail(h.Cumulative(), math.Log10(float64(h.Count())))
	if last := points[len(points)-1]; len(points) > 2*tailPoints || last.Q != 1 || last.NS < 4.9e6 {
		t.Errorf("%d points, the last %+v", len(points), last)
	}
}

// Panels are those that have something to show, all on one axis of one variant.
func TestTimelineOfVariant(t *testing.T) {
	blocks := []*run.Block{
		{Windows: []run.Window{{At: 0, Len: 1e9, Ops: 10, Mean: 1e8, Max: 2e8, Heap: 1 << 20}, {At: 1e9, Len: 1e9, Ops: 10, Mean: 1e8, Max: 2e8, Heap: 1 << 20}}},
		{Start: 90e9, Windows: []run.Window{{At: 0, Len: 1e9, Ops: 10, Mean: 1e8, Max: 2e8, Heap: 1 << 20}}},
	}
	h := newHistory(key{0}, "v", blocks, 1)
	if len(h.spans) != 3 || h.spans[2].from != 2e9 || h.spans[2].to != 3e9 || len(h.ends) != 2 {
		t.Fatalf("the second block is not behind the first: %+v", h)
	}
	titles := func() (out []string) {
		for _, p := range h.panels() {
			out = append(out, p.title)
		}
		return out
	}
	if got := strings.Join(titles(), ", "); got != "Latency, Throughput, Memory" {
		t.Errorf("without collections and pages: %s", got)
	}
	blocks[1].Windows[0].GCs, blocks[1].Windows[0].RSS, blocks[1].Windows[0].Unwritten = 1, 9<<20, 3<<20
	h = newHistory(key{0}, "v", blocks, 1)
	if got := strings.Join(titles(), ", "); got != "Latency, Throughput, Garbage collections, Memory, Unwritten pages" {
		t.Errorf("%s", got)
	}
	if newHistory(key{0}, "v", nil, 1) != nil {
		t.Error("nothing is drawn")
	}
}

// Labels of an axis leave room between each other on the narrowest screen.
func TestTickLabelsKeepApart(t *testing.T) {
	p := &picture{}
	p.tickLabels(scale{0.0049, 10, true}, 5, 16, func(x float64) string { return axisRatio(x) + axisRatio(x) + axisRatio(x) })
	few := strings.Count(p.b.String(), "<text")
	q := &picture{}
	q.tickLabels(scale{0.0049, 10, true}, 5, 16, axisRatio)
	if many := strings.Count(q.b.String(), "<text"); few >= many || few == 0 {
		t.Errorf("%d long labels, %d short ones", few, many)
	}
}
