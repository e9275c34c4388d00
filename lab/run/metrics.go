package run

// A Metric describes one figure that blocks carry.
type Metric struct {
	Name   string // key in Block.Metrics
	Unit   string // "ns", "B", "1" (a count), "share"
	Doc    string // its meaning and source
	Better int    // -1: less is better; +1: more is better; 0: neither
}

// metricList has the metrics of the lab, in the order of reports. "An operation" divides by Block.Ops.
var metricList = []Metric{
	{"cpu_user_ns_per_op", "ns", "CPU time in user mode an operation, all threads (getrusage)", -1},
	{"cpu_sys_ns_per_op", "ns", "CPU time in the kernel an operation, all threads (getrusage)", -1},
	{"allocs_per_op", "1", "heap allocations an operation (runtime.MemStats.Mallocs)", -1},
	{"alloc_bytes_per_op", "B", "heap bytes allocated an operation (runtime.MemStats.TotalAlloc)", -1},
	{"gc_count", "1", "garbage collections finished in the block", -1},
	{"gc_pause_ns", "ns", "stop-the-world pauses of the collector in the block, summed", -1},
	{"sched_latency_p99_ns", "ns", "99th percentile of the time goroutines waited, runnable, for a processor, to the upper edge of its bucket (runtime/metrics)", -1},
	{"run_delay_ns", "ns", "time threads waited, runnable, for a CPU, summed; threads that began and ended in the block are not in it (/proc/self/task/*/schedstat)", -1},
	{"peak_rss_bytes", "B", "peak resident memory of the block's process (VmHWM)", -1},
	{"minor_faults_per_op", "1", "page faults served from memory, an operation", -1},
	{"major_faults_per_op", "1", "page faults that had to read, an operation", -1},
	{"voluntary_switches_per_op", "1", "context switches because a thread waited, an operation", -1},
	{"involuntary_switches_per_op", "1", "context switches because a thread was pushed off its CPU, an operation", -1},
	{"bytes_per_second", "B/s", "bytes the variant says it moved, per second", +1},
	{"device_reads_per_op", "1", "reads completed by the device under the directory, an operation, for any process", -1},
	{"device_writes_per_op", "1", "writes completed by the device under the directory, an operation, for any process", -1},
	{"device_flushes_per_op", "1", "cache flushes completed by the device under the directory, of the whole disk where that is a partition, an operation", -1},
	{"device_read_bytes_per_op", "B", "bytes read from the device, an operation", -1},
	{"device_write_bytes_per_op", "B", "bytes written to the device, an operation", -1},
	{"iowait_share", "share", "share of all CPU time in which a CPU idled with I/O outstanding (/proc/stat)", 0},
	{"cache_misses_per_op", "1", "last-level cache misses an operation, the kernel's included (hardware counter)", -1},
	{"instructions_per_op", "1", "instructions an operation, the kernel's included (hardware counter)", -1},
	{"syscalls_per_op", "1", "system calls an operation without those of the Go runtime, from the counting block (kernel tracepoint sys_enter)", -1},
}

// Metrics returns the figures that the lab itself takes for a block, in the
// order in which reports show them.
func Metrics() []Metric { return append([]Metric(nil), metricList...) }
