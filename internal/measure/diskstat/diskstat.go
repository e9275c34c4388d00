package diskstat

// Stat is what a block device has completed since it appeared, whoever
// asked for it.
type Stat struct {
	Reads, Writes         int64
	ReadBytes, WriteBytes int64
	// Flushes of the device's write cache: of the whole disk where the device
	// is a partition, for the kernel does not keep them apart.
	Flushes int64
	// NoFlushes says why Flushes means nothing; empty when it does.
	NoFlushes string
}
