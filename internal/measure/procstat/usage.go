package procstat

import "time"

// A Usage is the resources that all threads of this process have used since it
// started.
type Usage struct {
	User, System             time.Duration // CPU time in user mode and in the kernel
	MinorFaults, MajorFaults int64         // page faults served from memory, and by reading
	// Context switches because a thread waited, and because it was preempted.
	Voluntary, Involuntary int64
}
