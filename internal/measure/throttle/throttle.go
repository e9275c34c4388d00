package throttle

// A Limit is the rate at which a block device is let work. Reads and
// writes are limited each by itself. 0 is no limit.
type Limit struct {
	IOPS           int64 // requests a second, as the device gets them
	BytesPerSecond int64
}
