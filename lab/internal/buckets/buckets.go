// Package buckets divides durations into the buckets that the times of system
// calls are counted in: in the kernel, in a run's JSON and in reports.
package buckets

import "math/bits"

// Count is the number of buckets. The last one also takes longer times.
const Count = (LastOctave-1)*PerOctave + PerOctave

// PerOctave is the number of buckets an octave: the durations of one differ by less
// than a quarter. Below four nanoseconds each has a bucket to itself.
const PerOctave = 4

// LastOctave is the last one with buckets of its own: it ends after 2^42 ns, 73
// minutes.
const LastOctave = 41

// Bounds returns the range of bucket i in nanoseconds: at least from, less
// than to.
func Bounds(i int) (from, to uint64) {
	if i < PerOctave {
		return uint64(i), uint64(i) + 1
	}
	octave := i/PerOctave + 1
	step := uint64(1) << (octave - 2)
	from = (PerOctave + uint64(i%PerOctave)) * step
	return from, from + step
}

// Of returns the bucket of a duration of ns nanoseconds.
func Of(ns uint64) int {
	if ns < PerOctave {
		return int(ns)
	}
	octave := bits.Len64(ns) - 1
	if octave > LastOctave {
		return Count - 1
	}
	return (octave-1)*PerOctave + int(ns>>(octave-2)%PerOctave)
}
