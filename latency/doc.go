// Package latency records how long operations take, and tells quantiles of it.
//
//	var appends latency.Histogram       // the zero value is ready
//	appends.Record(time.Since(began))   // any goroutine, no lock
//	before := appends.Snapshot()
//	...
//	last := appends.Snapshot().Sub(before)
//	fmt.Println(last.Count(), last.Quantile(0.99), last.Max())
//
// A [Histogram] counts durations in buckets: 16 to each power of two, so that
// a bucket is at most a sixteenth as wide as its durations are long, and one
// nanosecond wide below 32 ns. [Snapshot.Quantile] returns the middle of a
// bucket and is off by at most 1/32 (3.2%). Durations range from 0 to 2.4
// hours; others are counted in the first or last bucket, and told by
// [Snapshot.Clamped].
//
// A [Snapshot] is a value: it can be merged with those of other histograms,
// subtracted from a later one of the same histogram, encoded as JSON, and
// walked bucket by bucket for a monitoring system. The Stats of wal, newfile,
// fileio and logstore hold snapshots.
//
// # Cost
//
// Record takes about 10 ns on an AMD EPYC at 2.6 GHz, for one goroutine and for
// two that record at once, and allocates only for the first duration of a new
// power of two (BenchmarkRecord). Goroutines are spread over 8 shards by the
// address of their stack, so that cores do not fight for a cache line. Reading
// the clock twice costs about 100 ns more, so a path of less than 5 us is
// better sampled: a [Sampler] times one of n calls, chosen at random.
//
// An unused histogram has 64 bytes. Each shard in use adds 384 bytes, and each
// power of two that a shard has seen 128: 1.5 KiB for one goroutine and
// durations from 1 us to 1 ms, 43 KiB at most.
//
// # Mistakes to avoid
//
//   - Do not average quantiles of several histograms: merge the snapshots, and
//     take the quantile of the result.
//   - Quantile of a Snapshot covers the whole life of the process. To watch a
//     service, subtract the snapshot of the last scrape.
//   - A quantile needs samples: p99.9 of 500 durations is their maximum.
//   - Do not copy a Histogram or a Sampler, nor a struct that holds one by
//     value; vet reports it. Copy snapshots.
//   - Count of a sampled Snapshot is the number of samples. Estimate scales it.
package latency
