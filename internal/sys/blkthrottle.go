package sys

// A DeviceLimit is the rate at which a block device is let work. Reads and
// writes are limited each by itself. 0 is no limit.
type DeviceLimit struct {
	IOPS           int64 // requests a second, as the device gets them
	BytesPerSecond int64
}
