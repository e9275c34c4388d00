package sys

// FSInfo is the kind, size and free space of a file system.
type FSInfo struct {
	Magic uint32 // statfs f_type
	Free  int64  // bytes that this user may still write
	Total int64  // bytes
	// Inodes is how many files the file system can have, FreeInodes how many more.
	// Both are 0 where there is no limit.
	Inodes, FreeInodes int64
}

// A Statx is what statx(2) reports of the device below a file.
type Statx struct {
	Dev     string // "major:minor" of the device or, as on btrfs, an anonymous one
	Rdev    string // "major:minor" of the device that the file is
	MountID uint64 // as in mountinfo; 0 where the kernel does not tell

	// Alignment that direct I/O needs, in bytes. Both are 0 where the file
	// has no direct I/O, and mean nothing unless DirectKnown.
	DirectKnown  bool
	DirectMem    int
	DirectOffset int

	// Sizes in bytes of a write that is not torn (RWF_ATOMIC). Both are 0
	// where the file has none, and mean nothing unless AtomicKnown.
	AtomicKnown bool
	AtomicMin   int64
	AtomicMax   int64
}
