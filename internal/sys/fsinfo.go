package sys

// FSInfo is what a file system says of itself.
type FSInfo struct {
	Magic uint32 // statfs f_type
	Free  int64  // bytes that this user may still write
	Total int64  // bytes
	// Inodes is how many files the file system has room for, FreeInodes how
	// many more. Both are 0 where it has no such limit.
	Inodes, FreeInodes int64
}

// A Statx is the part of statx(2) that tells what a file lies on.
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
