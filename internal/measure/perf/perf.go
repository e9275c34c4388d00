package perf

// A Event is something that the kernel can count for a process.
type Event int

const (
	// CacheMisses: last-level cache misses, by the processor's counter.
	CacheMisses Event = iota
	// Instructions: instructions retired, by the processor's counter.
	Instructions
	// PageFaults: page faults, by the kernel; there on every machine.
	PageFaults
)
