package lab

import (
	"cmp"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/stele-go/stele/internal/measure/diskstat"
	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// A meter takes the metrics of a block, as differences over the timed part. The zero
// meter takes none.
type meter struct {
	*meterState
}

type meterState struct {
	disk          *diskstat.Disk
	noDisk        error
	counters      blockCounters
	before, after reading
	peak          int64
	noPeak        error
	openSyncs     int64 // files open at the end that sync each write
	syncsKnown    bool
	ended         bool
}

// reading is one look at everything that is taken as a difference.
type reading struct {
	counters counterReading
	usage    procstat.Usage
	noUsage  error
	mem      runtime.MemStats
	waits    []metrics.Sample // one histogram
	delays   map[int]time.Duration
	noDelays error
	disk     diskstat.Stat
	noDisk   error
	cpu      procstat.CPUTime
	noCPU    error
}

// newMeter prepares a meter for a block in the directory dir. It takes over the
// counters that the parent opened for this process.
func newMeter(dir string) meter {
	t := &meterState{counters: countersFromEnv()}
	t.disk, t.noDisk = diskstat.Under(dir)
	for _, r := range []*reading{&t.before, &t.after} {
		r.counters = t.counters.newReading()
		r.waits = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	}
	return meter{t}
}

// begin is called last before the timer starts. It reads in such an order that no
// reading is in the figures of a later one: the costliest first, the finest last.
func (m meter) begin() {
	if m.meterState == nil {
		return
	}
	r := &m.before
	m.readSlow(r)
	runtime.ReadMemStats(&r.mem) // stops the world, and counts exactly
	r.usage, r.noUsage = procstat.SelfUsage()
	m.counters.readHardware(&r.counters)
	m.counters.readSyscalls(&r.counters)
}

// end is called first after the timer stopped. It reads in the opposite order.
func (m meter) end() {
	if m.meterState == nil {
		return
	}
	r := &m.after
	m.counters.readSyscalls(&r.counters)
	m.counters.readHardware(&r.counters)
	r.usage, r.noUsage = procstat.SelfUsage()
	runtime.ReadMemStats(&r.mem)
	m.readSlow(r)
	if m.counters.syscalls != nil {
		m.openSyncs, m.syncsKnown = openSyncs()
	}
	m.peak, m.noPeak = procstat.PeakRSS()
	m.counters.close()
	m.ended = true
}

// readSlow reads files of the kernel and allocates.
func (t *meterState) readSlow(r *reading) {
	r.cpu, r.noCPU = procstat.AllCPUTime()
	r.noDisk = t.noDisk
	if r.noDisk == nil {
		r.disk, r.noDisk = t.disk.Stat()
	}
	r.delays, r.noDelays = procstat.RunDelays()
	metrics.Read(r.waits)
}

// results returns the metrics of the ops operations between begin and end. Each metric
// of the lab's is in exactly one of the maps values and missing, except
// bytes_per_second, which only the variant knows. syscalls is nil where system calls
// were not counted.
func (m meter) results(ops int64) (values map[string]float64, missing map[string]run.Reason, syscalls map[string]int64) {
	f := tally{ops: float64(ops), values: map[string]float64{}, missing: map[string]run.Reason{}}
	switch {
	case m.meterState == nil || !m.ended:
		f.missAll(run.Reason{Code: run.ReasonNotEnded})
	case ops <= 0:
		f.missAll(run.Reason{Code: run.ReasonNoOps})
	default:
		m.book(&f)
	}
	return f.values, f.missing, f.syscalls
}

func (t *meterState) book(f *tally) {
	a, b := &t.before, &t.after

	if f.have(run.ReasonOf(b.noUsage), "cpu_user_ns_per_op", "cpu_sys_ns_per_op", "minor_faults_per_op", "major_faults_per_op",
		"voluntary_switches_per_op", "involuntary_switches_per_op") {
		f.perOp("cpu_user_ns_per_op", int64(b.usage.User-a.usage.User))
		f.perOp("cpu_sys_ns_per_op", int64(b.usage.System-a.usage.System))
		f.perOp("minor_faults_per_op", b.usage.MinorFaults-a.usage.MinorFaults)
		f.perOp("major_faults_per_op", b.usage.MajorFaults-a.usage.MajorFaults)
		f.perOp("voluntary_switches_per_op", b.usage.Voluntary-a.usage.Voluntary)
		f.perOp("involuntary_switches_per_op", b.usage.Involuntary-a.usage.Involuntary)
	}

	f.perOp("allocs_per_op", int64(b.mem.Mallocs-a.mem.Mallocs))
	f.perOp("alloc_bytes_per_op", int64(b.mem.TotalAlloc-a.mem.TotalAlloc))
	f.values["gc_count"] = float64(b.mem.NumGC - a.mem.NumGC)
	f.values["gc_pause_ns"] = float64(b.mem.PauseTotalNs - a.mem.PauseTotalNs)

	waits, why := waitsP99(a.waits[0].Value, b.waits[0].Value)
	if f.have(why, "sched_latency_p99_ns") {
		f.values["sched_latency_p99_ns"] = waits
	}
	delay, why := runDelay(a, b)
	if f.have(why, "run_delay_ns") {
		f.values["run_delay_ns"] = float64(delay)
	}
	if f.have(run.ReasonOf(t.noPeak), "peak_rss_bytes") {
		f.values["peak_rss_bytes"] = float64(t.peak)
	}
	iowait, why := iowaitShare(a, b)
	if f.have(why, "iowait_share") {
		f.values["iowait_share"] = iowait
	}
	bookDisk(f, a, b)
	t.bookCounters(f)
}

func bookDisk(f *tally, a, b *reading) {
	if !f.have(run.ReasonOf(cmp.Or(b.noDisk, a.noDisk)), "device_reads_per_op", "device_writes_per_op", "device_flushes_per_op", "device_read_bytes_per_op", "device_write_bytes_per_op") {
		return
	}
	f.perOp("device_reads_per_op", b.disk.Reads-a.disk.Reads)
	f.perOp("device_writes_per_op", b.disk.Writes-a.disk.Writes)
	f.perOp("device_read_bytes_per_op", b.disk.ReadBytes-a.disk.ReadBytes)
	f.perOp("device_write_bytes_per_op", b.disk.WriteBytes-a.disk.WriteBytes)
	if why := b.disk.NoFlushes; why != "" {
		f.missing["device_flushes_per_op"] = run.Reason{Code: run.ReasonText, Text: why}
	} else {
		f.perOp("device_flushes_per_op", b.disk.Flushes-a.disk.Flushes)
	}
}

func (t *meterState) bookCounters(f *tally) {
	for metric, why := range t.counters.missing {
		f.missing[metric] = why
	}
	a, b := &t.before.counters, &t.after.counters
	for i, c := range t.counters.hardware {
		n, err := hardwareBetween(a, b, i)
		if f.have(run.ReasonOf(err), c.metric) {
			f.perOp(c.metric, int64(n))
		}
	}
	if _, no := f.missing[run.MetricSyscalls]; no {
		return
	}
	f.syscalls = syscallsBetween(a, b)
	var own int64
	for name, n := range f.syscalls {
		if !run.RuntimeSyscall(name) {
			own += n
		}
	}
	f.perOp(run.MetricSyscalls, own)
}

// runDelay sums the waits of all threads. A thread that began in the block counts
// whole. The figure of one that ended is gone, and the sum would be too small by an
// unknown amount.
func runDelay(a, b *reading) (time.Duration, run.Reason) {
	if err := cmp.Or(a.noDelays, b.noDelays); err != nil {
		return 0, run.ReasonOf(err)
	}
	var sum time.Duration
	for _, d := range b.delays {
		sum += d
	}
	ended := 0
	for tid, d := range a.delays {
		sum -= d
		if _, alive := b.delays[tid]; !alive {
			ended++
		}
	}
	if ended > 0 {
		return 0, run.Reason{Code: run.ReasonThreadsEnded, N: int64(ended), Of: int64(len(a.delays))}
	}
	return sum, run.Reason{}
}

// minTicks is how many ticks of the kernel's clock, all CPUs together, a
// share needs: with fewer, one tick is more than 5 %.
const minTicks = 20

func iowaitShare(a, b *reading) (float64, run.Reason) {
	if err := cmp.Or(a.noCPU, b.noCPU); err != nil {
		return 0, run.ReasonOf(err)
	}
	ticks, waiting := b.cpu.Total-a.cpu.Total, b.cpu.IOWait-a.cpu.IOWait
	if ticks < minTicks {
		return 0, run.Reason{Code: run.ReasonFewTicks, N: ticks, Of: minTicks}
	}
	if waiting < 0 { // proc(5): the kernel's iowait may fall
		return 0, run.Reason{Code: run.ReasonIOWaitFell}
	}
	return float64(waiting) / float64(ticks), run.Reason{}
}

// waitsP99 returns the 99th percentile, in nanoseconds, of the values that the
// histogram b has more than a: the upper edge of its bucket, up to a quarter too high.
func waitsP99(a, b metrics.Value) (float64, run.Reason) {
	if a.Kind() != metrics.KindFloat64Histogram || b.Kind() != metrics.KindFloat64Histogram {
		return 0, run.Reason{Code: run.ReasonNoSchedule}
	}
	seconds, err := stats.BucketPercentile(a.Float64Histogram(), b.Float64Histogram(), 99, 0.95)
	return seconds * 1e9, run.ReasonOf(err)
}

// tally collects the metrics of a block.
type tally struct {
	ops      float64
	values   map[string]float64
	missing  map[string]run.Reason
	syscalls map[string]int64
}

func (f *tally) perOp(name string, n int64) { f.values[name] = float64(n) / f.ops }

// have reports whether there is no reason for metrics to be missing, and notes it
// for each of them if there is one.
func (f *tally) have(why run.Reason, names ...string) bool {
	if why == (run.Reason{}) {
		return true
	}
	for _, name := range names {
		f.missing[name] = why
	}
	return false
}

func (f *tally) missAll(reason run.Reason) {
	for _, m := range run.Metrics() {
		if m.Name != "bytes_per_second" {
			f.missing[m.Name] = reason
		}
	}
}
