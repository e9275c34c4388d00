package server

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/stele-go/stele/latency"
)

// A latencyMetric is a snapshot of durations as a histogram of Prometheus, native and classic
// at once.
type latencyMetric struct {
	desc *prometheus.Desc
	s    latency.Snapshot
}

// Desc returns the description.
func (m *latencyMetric) Desc() *prometheus.Desc { return m.desc }

// The native buckets: 8 to a power of two, of which bucket 0 ends at 1 s. The snapshot has
// 16, so each lies in one of them or in two neighbours.
const (
	nativeSchema = 3
	nativeEach   = 1 << nativeSchema
)

// classicBounds are those of the classic buckets, in seconds.
var classicBounds = prometheus.ExponentialBuckets(0.0001, 4, 10)

// Write fills in a histogram.
func (m *latencyMetric) Write(to *dto.Metric) error {
	h := &dto.Histogram{
		SampleCount: new(m.s.Count()), SampleSum: new(m.s.Sum().Seconds()),
		Schema: new(int32(nativeSchema)), ZeroThreshold: new(1e-9), ZeroCount: new(uint64(0)),
	}
	classic := make([]uint64, len(classicBounds))
	var last, lastCount int64
	for b, n := range m.s.Buckets() {
		middle := (time.Duration(b.Low) + (time.Duration(b.High)-time.Duration(b.Low))/2).Seconds()
		for i := range classic {
			if middle <= classicBounds[i] {
				classic[i] += n
			}
		}
		if middle <= 0 {
			*h.ZeroCount += n
			continue
		}
		index := int64(math.Ceil(math.Log2(middle) * nativeEach))
		addNative(h, index, int64(n), &last, &lastCount)
	}
	for i, n := range classic {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: new(classicBounds[i]), CumulativeCount: new(n)})
	}
	to.Histogram = h
	return nil
}

// addNative adds a bucket, whose index is not below that of the last one. Buckets are
// written as spans of neighbours, and counts as differences to the bucket before.
func addNative(h *dto.Histogram, index, n int64, last, lastCount *int64) {
	spans := len(h.PositiveSpan)
	switch {
	case spans > 0 && index == *last:
		h.PositiveDelta[len(h.PositiveDelta)-1] += n
		*lastCount += n
		return
	case spans > 0 && index == *last+1:
		*h.PositiveSpan[spans-1].Length++
	default:
		offset := index
		if spans > 0 {
			offset = index - *last - 1
		}
		h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: new(int32(offset)), Length: new(uint32(1))})
	}
	h.PositiveDelta = append(h.PositiveDelta, n-*lastCount)
	*last, *lastCount = index, n
}
