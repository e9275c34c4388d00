// Package procstat reads the CPU time and memory of processes: from /proc (proc(5))
// and getrusage(2).
package procstat

// CPUTime is how the time of all CPUs was spent since boot, in ticks of the
// kernel's clock (10 ms as a rule).
type CPUTime struct {
	IOWait int64 // idle with I/O of a thread of that CPU outstanding
	Total  int64
}
