package sys

// A PerfEvent is something that the kernel can count for a process.
type PerfEvent int

const (
	// PerfCacheMisses: last-level cache misses, by the processor's counter.
	PerfCacheMisses PerfEvent = iota
	// PerfInstructions: instructions retired, by the processor's counter.
	PerfInstructions
	// PerfPageFaults: page faults, by the kernel; there on every machine.
	PerfPageFaults
)
