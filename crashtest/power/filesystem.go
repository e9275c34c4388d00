package power

import (
	"slices"

	"github.com/stele-go/stele/internal/setting"
)

// A fileSystem has what the rig needs to know about a file system.
type fileSystem struct {
	name string
	mkfs []string // the image's name comes last
	opts string   // of the mount
	size int64    // by default, bytes
	// super is the range of the superblock in bytes. The superblock is written
	// in place and read before any journal is replayed, under one checksum: a
	// file system does not mount if it is torn. So it is written whole or not
	// at all, as by disks with sectors of 4 KiB. In XFS it is one sector anyway.
	super [2]int64
}

// sector is the number of bytes that a disk writes whole or not at all.
const sector = 512

var fileSystems = [...]fileSystem{
	// mkfs must not leave work to a kernel thread after the mount
	// (lazy_*): it would fill the log.
	{name: "ext4", size: 64 << 20, super: [2]int64{1 << 10, 2 << 10},
		mkfs: []string{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}},
	{name: "xfs", size: 300 << 20, super: [2]int64{0, sector},
		mkfs: []string{"mkfs.xfs", "-q", "-f", "-s", "size=512"}},
	{name: "btrfs", size: 128 << 20, super: [2]int64{64 << 10, 68 << 10},
		mkfs: []string{"mkfs.btrfs", "-q", "-f"}},
}

func fileSystemOf(o Options) (fileSystem, error) {
	if o.FS == "" {
		o.FS = "ext4"
	}
	for _, fs := range fileSystems {
		if fs.name != o.FS {
			continue
		}
		fs.mkfs = slices.Concat(fs.mkfs, o.Mkfs)
		fs.opts = o.Mount
		if o.Size != 0 {
			fs.size = o.Size
		}
		if fs.size < 0 || fs.size%pageSize != 0 {
			return fs, setting.Wrong("power: Options.Size", setting.Bytes(fs.size), "a multiple of %d", pageSize)
		}
		return fs, nil
	}
	return fileSystem{}, setting.Wrong("power: Options.FS", o.FS, "ext4, xfs or btrfs")
}
