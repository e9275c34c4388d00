package run

import (
	"bytes"
	"testing"

	"github.com/stele-go/stele/lab/internal/buckets"
)

// timesOf counts calls by how long they took.
func timesOf(counts map[int64]int64) *CallTimes {
	c := &CallTimes{Counts: make([]int64, buckets.Count)}
	for ns, n := range counts {
		c.Total += Nanos(ns * n)
		c.Max = max(c.Max, Nanos(ns))
		c.Counts[buckets.Of(uint64(ns))] += n
	}
	return c
}

// Where the kernel refuses both ways that is said, and nothing is zero.
func TestCallsMissing(t *testing.T) {
	v := traceOf(nil, []*Block{{Ops: 5, Missing: map[string]Reason{"calls": {Code: ReasonText, Text: "needs root"}}}, {Error: "failed", Ops: 1}})
	if v == nil || v.Missing["calls"].Text != "needs root" || v.Calls != nil || v.Blocks != 0 {
		t.Errorf("got %+v", v)
	}
	if v := traceOf([]*Block{{Waits: &Waits{}}}, nil); v != nil {
		t.Errorf("nobody asked: %+v", v)
	}
}

// Blocks are put together by name; percentiles lie in their bucket.
func TestCallLatencies(t *testing.T) {
	fast := timesOf(map[int64]int64{1000: 900})
	slow := timesOf(map[int64]int64{1e6: 100, 3e6: 1})
	v := traceOf(nil, []*Block{
		{Ops: 500, Timed: SourceBPF, Calls: map[string]*CallTimes{"pwrite64": fast, "futex": slow}},
		{Ops: 500, Timed: SourceBPF, Calls: map[string]*CallTimes{"pwrite64": slow}},
		{Missing: map[string]Reason{"calls": {Code: ReasonText, Text: "once"}}, Ops: 1},
	})
	if v.Blocks != 2 || len(v.Calls) != 2 || v.Calls[0].Call != "pwrite64" || !v.Calls[1].Runtime || v.Missing["calls"] != (Reason{}) {
		t.Fatalf("got %+v", v)
	}
	c := v.Calls[0]
	if c.Count != 1001 || c.PerOp != 1.001 || c.Total != 900*1000+100*1e6+3e6 || c.Max != 3e6 {
		t.Errorf("got %+v", c)
	}
	if c.P50.NS < 896 || c.P50.NS >= 1024 || c.P99.NS < 0.8e6 || c.P99.NS > 1.25e6 {
		t.Errorf("p50 %v of 1 us, p99 %v of 1 ms", c.P50.NS, c.P99.NS)
	}
	var n int64
	for i, b := range c.Buckets {
		n += b.Count
		if i > 0 && b.From != c.Buckets[i-1].To {
			t.Errorf("a gap before bucket %+v", b)
		}
	}
	if n != c.Count || c.Buckets[0].Count == 0 || c.Buckets[len(c.Buckets)-1].Count == 0 {
		t.Errorf("the buckets hold %d of %d calls: %+v", n, c.Count, c.Buckets)
	}
}

func TestReadRefusesBadCalls(t *testing.T) {
	for _, c := range []*CallTimes{{Total: -1}, {Counts: []int64{-1}}, {First: buckets.Count - 1, Counts: []int64{1, 1}}, {First: -1}} {
		r := exactRun(2, named(killPrefix, "a"), map[string]float64{"a": 1})
		r.Results[0].Blocks[0].Calls = map[string]*CallTimes{"read": c}
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b); err == nil {
			t.Errorf("%+v was read", c)
		}
	}
}
