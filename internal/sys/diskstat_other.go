//go:build !linux

package sys

// A Disk is the block device that a file system lies on.
type Disk struct{ Name string }

// DiskUnder is not offered here.
func DiskUnder(dir string) (*Disk, error) { return nil, unavailable() }

// Stat is not offered here.
func (d *Disk) Stat() (DiskStat, error) { return DiskStat{}, unavailable() }
