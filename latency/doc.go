// Package latency records the durations of operations and estimates their
// quantiles.
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
// bucket, within 1/32 (3.2%). Durations range from 0 to 2.4 hours; others are
// counted in the first or last bucket, and by [Snapshot.Clamped].
//
// A [Snapshot] is a value: it can be merged with those of other histograms,
// subtracted from a later one of the same histogram, encoded as JSON, and
// iterated bucket by bucket for a monitoring system. The Stats of wal, newfile,
// fileio and logstore contain snapshots.
//
// # Cost
//
// Record takes about 10 ns on an AMD EPYC at 2.6 GHz, for one goroutine and for
// two that record at once, and allocates only for the first duration of a new
// power of two (BenchmarkRecord). Goroutines are spread over 8 shards by the
// address of their stack, so that cores do not contend for a cache line. Two
// readings of the clock cost about 100 ns more, so time an operation of less than
// 5 us by a [Sampler], which times one of n calls at random.
//
// An unused histogram has 64 bytes. Each shard in use adds 384 bytes, and each
// power of two that a shard has seen 128: 1.5 KiB for one goroutine and
// durations from 1 us to 1 ms, 43 KiB at most.
//
// # Mistakes to avoid
//
//   - Averaging quantiles of several histograms. Merge the snapshots, and take the
//     quantile of the result.
//   - Watching a service by quantiles of a Snapshot, which covers the whole life of
//     the process. Subtract the snapshot of the last scrape.
//   - A high quantile of few durations: p99.9 of 500 is their maximum.
//   - Copying a Histogram or a Sampler, or a struct that contains one; vet reports
//     it. Copy snapshots.
//   - Taking Count of a sampled Snapshot for the number of operations: it is that
//     of the samples. Estimate scales it.
package latency
