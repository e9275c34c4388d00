// Package throttle limits the rate of block devices by the controller io of cgroup v2
// (io.max), and by the controller blkio of cgroup v1.
package throttle

// A Limit is a rate of a block device. It holds for reads and for writes
// separately. 0 is no limit.
type Limit struct {
	IOPS           int64 // requests a second, as the device receives them
	BytesPerSecond int64
}
