// Package diskstat reads the counters of the block device under a directory, from
// sysfs (Documentation/block/stat.rst).
package diskstat

// A Stat is the requests that a block device has completed since it appeared, for all
// processes.
type Stat struct {
	Reads, Writes         int64
	ReadBytes, WriteBytes int64
	// Flushes of the device's write cache. For a partition they are those of the
	// whole disk: the kernel does not count them separately.
	Flushes int64
	// NoFlushes is why Flushes is meaningless, or empty.
	NoFlushes string
}
