package sys

// An Extent is a part of a file that has room on the disk, or will have it
// once it is written out, in bytes.
type Extent struct {
	Off, Len int64
	// Unwritten: it reads as zeros.
	Unwritten bool
	// Odd: it is not whole blocks, lies in the inode itself, or is encoded.
	Odd bool
}
