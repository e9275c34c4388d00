package server

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/stele-go/stele/latency"
)

// The metrics are well formed, and their labels are bounded: whatever is asked for, a path
// that is not served is no label.
func TestMetrics(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	c.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 5, "x", "y")))
	c.do(t, pushRequest("application/json", "", []byte("{")))
	_, before := c.do(t, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	for _, want := range []string{
		"stele_push_lines_total 2\n", "stele_push_malformed_total 1\n", "stele_store_entries_total 2\n", "stele_http_connections 1\n", "stele_push_decode_seconds_count 2\n",
		`stele_http_requests_total{path="/loki/api/v1/push",status="2xx"} 1` + "\n", `stele_http_requests_total{path="/loki/api/v1/push",status="4xx"} 1` + "\n",
		"stele_store_append_seconds_count ", "stele_store_log_queued 0\n", "stele_store_log_group_records_count ", "stele_push_lines_count 1\n", `stele_push_rejected_lines_total{reason="too_old"} 0` + "\n", "go_goroutines ",
	} {
		if !strings.Contains(before, want) {
			t.Errorf("%q is not in the metrics", want)
		}
	}
	for _, path := range []string{"/a", "/b", "/loki/api/v1/nothing"} {
		get(s, "GET", path)
	}
	series := func(text string) int { return strings.Count(text, "stele_") }
	if after := get(s, "GET", "/metrics").Body.String(); series(after) != series(before) {
		t.Errorf("%d series, and %d before", series(after), series(before))
	}
	if problems, err := testutil.GatherAndLint(s.metrics.registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// A latency histogram has each duration in a bucket whose bounds hold it, native and classic.
func TestLatencyMetric(t *testing.T) {
	var h latency.Histogram
	durations := []time.Duration{0, 90, 130 * time.Microsecond, time.Millisecond, time.Millisecond, 1100 * time.Microsecond, time.Second, 40 * time.Second}
	for _, d := range durations {
		h.Record(d)
	}
	m := latencyMetric{prometheus.NewDesc("x", "y", nil, nil), h.Snapshot()}
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	got := out.GetHistogram()
	if got.GetSampleCount() != uint64(len(durations)) || math.Abs(got.GetSampleSum()-41.0034) > 1 {
		t.Error(got.GetSampleCount(), got.GetSampleSum())
	}
	native := nativeCounts(got)
	if n := got.GetZeroCount(); n != 1 {
		t.Error(n, "durations of zero")
	}
	for index, n := range native {
		high, in := math.Exp2(float64(index)/nativeEach), int64(0)
		for _, d := range durations { // within 1/32, as the snapshot tells them
			if s := d.Seconds(); s > 0 && s*33/32 > high/math.Exp2(1./nativeEach) && s*31/32 <= high {
				in++
			}
		}
		if n > in || n < 1 {
			t.Errorf("%d durations up to %v s, want at most %d", n, high, in)
		}
	}
	for _, b := range got.Bucket {
		want := uint64(0)
		for _, d := range durations {
			if d.Seconds() <= b.GetUpperBound() {
				want++
			}
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("%d durations up to %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
		}
	}
}

// nativeCounts returns the counts of native buckets by their index.
func nativeCounts(h *dto.Histogram) map[int64]int64 {
	counts := map[int64]int64{}
	index, count, delta := int64(0), int64(0), 0
	for i, span := range h.PositiveSpan {
		if index += int64(span.GetOffset()); i == 0 {
			index = int64(span.GetOffset())
		}
		for range span.GetLength() {
			count += h.PositiveDelta[delta]
			delta++
			counts[index] = count
			index++
		}
	}
	return counts
}
