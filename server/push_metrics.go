package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokipush"
)

// pushMetrics are the figures of pushes.
type pushMetrics struct {
	lines, bytes, known         prometheus.Counter
	malformed, noMemory, direct prometheus.Counter
	waiting                     prometheus.Gauge
	rejected                    [reasons]prometheus.Counter
	perPush                     prometheus.Histogram
	decode                      *latency.Histogram
}

func newPushMetrics(r *prometheus.Registry) pushMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	m := pushMetrics{
		lines:     counter("stele_push_lines_total", "Lines that pushes have brought and the store has kept."),
		bytes:     counter("stele_push_bytes_total", "Bytes of lines of decoded pushes."),
		known:     counter("stele_push_known_lines_total", "Lines of pushes that were sent again, which an earlier push had brought."),
		malformed: counter("stele_push_malformed_total", "Pushes that could not be decoded."),
		noMemory:  counter("stele_push_no_memory_total", "Pushes that were answered with 429, as there was no memory for them."),
		direct:    counter("stele_push_direct_total", "Pushes that the server's own reader of HTTP has read."),
		waiting:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "stele_push_waiting", Help: "Pushes that wait for memory for their body."}),
		perPush: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "stele_push_lines", Help: "Lines of a push.", Buckets: prometheus.ExponentialBuckets(1, 4, 9), NativeHistogramBucketFactor: 1.5,
		}),
	}
	rejected := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stele_push_rejected_lines_total", Help: "Lines that were refused, by reason."}, []string{"reason"})
	for i := range m.rejected {
		m.rejected[i] = rejected.WithLabelValues(reason(i).String())
	}
	m.decode = new(latency.Histogram)
	r.MustRegister(m.waiting, m.perPush, rejected, &latencyCollector{
		prometheus.NewDesc("stele_push_decode_seconds", "Time in which the body of a push is hashed, decompressed and decoded.", nil, nil), m.decode,
	})
	return m
}

// A latencyCollector collects the durations of a histogram.
type latencyCollector struct {
	desc *prometheus.Desc
	h    *latency.Histogram
}

// Describe sends the description.
func (c *latencyCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect sends the histogram.
func (c *latencyCollector) Collect(to chan<- prometheus.Metric) {
	to <- &latencyMetric{c.desc, c.h.Snapshot()}
}

func (m *pushMetrics) count(d *lokipush.Decoder, a logstore.Appended) {
	m.lines.Add(float64(a.Kept))
	if a.Known > 0 {
		m.known.Add(float64(a.Known))
	}
	m.bytes.Add(float64(d.Bytes()))
	m.perPush.Observe(float64(d.Entries()))
}

func (m *pushMetrics) reject(r reason, entries int) { m.rejected[r].Add(float64(entries)) }
