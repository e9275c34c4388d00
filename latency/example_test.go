package latency_test

import (
	"fmt"
	"time"

	"github.com/stele-go/stele/latency"
)

func Example() {
	var h latency.Histogram
	for range 99 {
		h.Record(80 * time.Microsecond)
	}
	h.Record(3 * time.Millisecond)
	first := h.Snapshot()
	fmt.Println("so far: ", first)

	h.RecordN(2*time.Millisecond, 500) // 500 operations that shared one flush
	last := h.Snapshot().Sub(first)
	fmt.Println("of late:", last.Count(), "operations, median within 1/32 of", last.Mean())
	// Output:
	// so far:  count=100 mean=109.2µs p50=80µs p99=80µs p99.9=3ms max=3ms
	// of late: 500 operations, median within 1/32 of 2ms
}

// A classic histogram of Prometheus has cumulative buckets with an upper bound
// in seconds, le. With powers of two as bounds it is exact, except that a
// duration of exactly a bound belongs to the next bucket.
func ExampleSnapshot_Buckets() {
	var h latency.Histogram
	for i := range 1000 {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	s := h.Snapshot()
	le, below := time.Duration(1<<17), uint64(0)
	for b, n := range s.Buckets() {
		for b.Low >= le {
			fmt.Printf("append_seconds_bucket{le=%q} %d\n", fmt.Sprint(le.Seconds()), below)
			le *= 2
		}
		below += n
	}
	fmt.Printf("append_seconds_bucket{le=\"+Inf\"} %d\n", s.Count())
	fmt.Printf("append_seconds_sum %v\n", s.Sum().Seconds())
	fmt.Printf("append_seconds_count %d\n", s.Count())
	// Output:
	// append_seconds_bucket{le="0.000131072"} 132
	// append_seconds_bucket{le="0.000262144"} 263
	// append_seconds_bucket{le="0.000524288"} 525
	// append_seconds_bucket{le="+Inf"} 1000
	// append_seconds_sum 0.4995
	// append_seconds_count 1000
}

// A path of 2 us is timed once in 64.
func ExampleSampler() {
	reads := latency.Sampler{OneOf: 64}
	t := reads.Start()
	// ... read ...
	t.Stop()
	fmt.Println("one of", reads.Snapshot().OneOf())
	// Output:
	// one of 64
}
