package header

import (
	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

// A Mode is what a reader, and a crash, may see of a change.
type Mode uint8

const (
	// Atomic: the old file or the new one, never anything between. The name
	// gets a new file, so other hard links and whoever has it open keep the old.
	Atomic Mode = iota
	// InPlace: the file stays the same file, and what it costs does not grow
	// with it. Whoever reads meanwhile may see a mix. A crash leaves something
	// that Recover makes old or new; see the package comment. Where it cannot
	// be done in place, and no strategy is forced, it is done as Atomic.
	InPlace
)

// A Strategy is a way to get bytes before a file's first byte.
type Strategy uint8

const (
	// Auto takes the fastest way that the file system and the options allow.
	Auto Strategy = iota
	// Slot overwrites room that was reserved at the head. InPlace.
	Slot
	// Shift moves the file's extents by whole blocks (FALLOC_FL_INSERT_RANGE,
	// FALLOC_FL_COLLAPSE_RANGE): ext4 and XFS. InPlace, with padding.
	Shift
	// Clone makes a new file that shares the old one's extents
	// (FICLONERANGE), and renames it: XFS and btrfs. Atomic, with padding.
	Clone
	// KernelCopy copies by copy_file_range(2) into a new file, and renames it.
	KernelCopy
	// Copy copies through memory into a new file, and renames it.
	Copy
)

// Options are the settings of a change. The zero value is the safe one:
// atomic, level Power, exactly the bytes given, and nothing of the file lost.
type Options struct {
	// Mode is what a reader, and a crash, may see. The default is Atomic.
	Mode Mode
	// Strategy forces one way. What cannot be done that way is then an error,
	// ErrStrategy. The default, Auto, takes the fastest that there is, and
	// Result tells which, and why no faster one.
	Strategy Strategy
	// Level is what a finished change survives. The default is Power. None is
	// the same as Kill, as the bytes are in the kernel.
	Level durability.Level
	// Pad allows padding: bytes between the header and the old content, where
	// whole blocks are faster. It fills all of what it is given, which is all
	// padding behind one header. The default, nil, is no padding: then only the
	// given bytes are inserted. See PadByte.
	Pad func(pad []byte)
	// Drop is what a new file does not take over from the old one: mode (it
	// is then 0666 before umask), owner, extended attributes, ACL. The default,
	// 0, keeps all of them, and it is an error if one cannot be kept. In place
	// all stays that a write leaves; see the package comment.
	Drop atomicfile.Keep
	// KeepTimes leaves the times of access and modification as they are. By
	// default the time of modification is that of the change.
	KeepTimes bool
}

// PadByte pads with one byte: '\n' or ' ' for text.
func PadByte(b byte) func(pad []byte) {
	return func(pad []byte) {
		for i := range pad {
			pad[i] = b
		}
	}
}

// A Result is what a change did.
type Result struct {
	// Strategy is the way that was taken, and Why says why no faster one was.
	// It is Auto where nothing was to be done; then nothing was synced either.
	Strategy Strategy
	Why      string
	// Promise is what the finished change survives, and what a crash leaves.
	Promise durability.Promise
	// Header is the length of the header, and Pad of the padding behind it, in
	// bytes; older headers in the same room are between them. Moved is by how
	// much the old content moved: less than 0 towards the head.
	Header, Pad, Moved int64
}
