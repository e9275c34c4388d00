package procstat

import "time"

// A Usage is what this process has used since it began, all its threads
// together.
type Usage struct {
	User, System             time.Duration // CPU time in user mode and in the kernel
	MinorFaults, MajorFaults int64         // page faults served from memory, and those that read
	// Context switches because a thread waited, and because one was pushed
	// off its CPU.
	Voluntary, Involuntary int64
}
