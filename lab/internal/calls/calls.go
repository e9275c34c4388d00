// Package calls watches the system calls of this process from within the
// kernel: a [Counter] counts them by number, a [Timer] times each of them.
//
// Both are BPF programs on raw tracepoints. Such a program runs for every thread of
// the machine and checks whether the thread is one of ours, so all of the machine's
// calls become slower while one is attached. The counts are in shared memory:
// starting, stopping and reading make no system call.
//
// Both need Linux 5.11 and root, or CAP_BPF and CAP_PERFMON. Before that the
// memory of BPF counted against RLIMIT_MEMLOCK.
package calls

import (
	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/internal/buckets"
)

// Counts holds how often each call was made, by its number.
type Counts [systrace.Slots]uint64

// A Latency is how long the calls of one number took, in nanoseconds from the
// kernel's entry to its exit, with the time a thread slept or waited for a CPU.
type Latency struct {
	Total   uint64
	Max     uint64
	Buckets [buckets.Count]uint64 // by buckets.Of
}

// Count is the number of calls.
func (l *Latency) Count() (n uint64) {
	for _, b := range l.Buckets {
		n += b
	}
	return n
}

// Add adds a call of ns nanoseconds.
func (l *Latency) Add(ns uint64) {
	l.Total += ns
	l.Max = max(l.Max, ns)
	l.Buckets[buckets.Of(ns)]++
}
