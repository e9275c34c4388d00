// Package perf reads the kernel's performance counters (perf_event_open(2)) for
// processes that this one starts.
package perf

// An Event is something that the kernel can count for a process.
type Event int

const (
	// CacheMisses counts last-level cache misses, by the processor.
	CacheMisses Event = iota
	// Instructions counts retired instructions, by the processor.
	Instructions
	// PageFaults counts page faults, by the kernel: available on every machine.
	PageFaults
)
