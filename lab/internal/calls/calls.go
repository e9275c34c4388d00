// Package calls watches the system calls of this process from within the
// kernel: a [Counter] counts them by number, a [Timer] times each of them.
//
// Both are BPF programs on raw tracepoints. Such a program runs for every
// thread of the machine and asks by itself whether it is one of ours, so all
// of the machine's calls become slower while one is attached. What is counted
// is shared memory: starting, stopping and reading make no system call and
// disturb nothing.
//
// Both need Linux 5.11 and root, or CAP_BPF and CAP_PERFMON. Before that the
// memory of BPF counted against RLIMIT_MEMLOCK.
package calls

import (
	"math/bits"

	"github.com/stele-go/stele/internal/measure/systrace"
)

// Counts holds how often each call was made, by its number.
type Counts [systrace.Slots]uint64

// Buckets is the number of buckets of a Latency. The last one takes whatever
// is longer, too.
const Buckets = (lastOctave-1)*perOctave + perOctave

// Four buckets an octave: what lies in one is within a fifth of its
// neighbours. Below four nanoseconds each has a bucket to itself.
const (
	perOctave  = 4
	lastOctave = 41 // ends after 2^42 ns, 73 minutes
)

// A Latency is how long the calls of one number took, in nanoseconds from the
// kernel's entry to its exit, with the time a thread slept or waited for a CPU.
type Latency struct {
	Total   uint64
	Max     uint64
	Buckets [Buckets]uint64 // how many took as long as Bucket says
}

// Count is the number of calls.
func (l *Latency) Count() (n uint64) {
	for _, b := range l.Buckets {
		n += b
	}
	return n
}

// Add books a call of ns nanoseconds.
func (l *Latency) Add(ns uint64) {
	l.Total += ns
	l.Max = max(l.Max, ns)
	l.Buckets[bucketOf(ns)]++
}

// Bucket is the range of bucket i in nanoseconds: at least from, less than to.
func Bucket(i int) (from, to uint64) {
	if i < perOctave {
		return uint64(i), uint64(i) + 1
	}
	octave := i/perOctave + 1
	step := uint64(1) << (octave - 2)
	from = (perOctave + uint64(i%perOctave)) * step
	return from, from + step
}

// bucketOf is the bucket of a time; timeProgram does the same in the kernel.
func bucketOf(ns uint64) int {
	if ns < perOctave {
		return int(ns)
	}
	octave := bits.Len64(ns) - 1
	if octave > lastOctave {
		return Buckets - 1
	}
	return (octave-1)*perOctave + int(ns>>(octave-2)%perOctave)
}
