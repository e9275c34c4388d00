package sys

// An Extent is a part of a file with blocks on the disk, or with blocks to come at
// writeback. Offsets are in bytes.
type Extent struct {
	Off, Len int64
	// Unwritten: it reads as zeros.
	Unwritten bool
	// Odd: it is not whole blocks, lies in the inode itself, or is encoded.
	Odd bool
}
