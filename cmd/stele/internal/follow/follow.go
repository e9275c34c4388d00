// Package follow reads the lines of a file that grows, is rotated and is truncated, each
// line once, also over restarts.
//
// The files that have the same name one after the other are generations of one source:
// the first is 1. A line is known by the generation and the offset of its end there,
// together its [Position], which grows through all generations. Whoever keeps the
// position of the last line that is safe, as a log store does for its sources, goes on
// behind it. Which file a generation is, is written into a [Book] before a line of it is
// handed out: device and inode, and a hash of its first bytes. So it is found again after
// it was renamed, copied away (copytruncate) or compressed.
//
//	follow.go      the position
//	book.go        the bookmarks: which file is which generation
//	identity.go    how a file is recognised
//	names.go       the names of rotated files
//	compressed.go  the text of compressed files
//	search.go      where the file of a generation is now
//	source.go      opening the files of a source
//	lines.go       reading their lines
//	end.go         what follows at the end of a file: rotations and truncations
//	wait.go        waking up when a file changes
//
// # Limits
//
//   - A file that is truncated while nobody reads it, and grows beyond the place of the
//     reader with the same first 1,024 bytes, may be taken for one that grew.
//   - Lines that are written between the last look at a file and its truncation are
//     found only in a copy beside it, as copytruncate of logrotate makes one.
//   - Lines that are written to a renamed file after the new one has lines are read if
//     they come within Options.Grace.
package follow

import "fmt"

// offsetBits are the bits of a position that have the offset: a file has less than 1 TiB.
const offsetBits = 40

// A Position is the end of a line in a source: a generation of its file, and an offset in
// bytes. The zero Position is the begin of the source.
type Position uint64

// At returns a position.
func At(generation uint32, offset int64) Position {
	return Position(generation)<<offsetBits | Position(offset)
}

// Generation returns the generation, from 1; 0 before the first.
func (p Position) Generation() uint32 { return uint32(p >> offsetBits) }

// Offset returns the offset in the file, of its text if that is compressed.
func (p Position) Offset() int64 { return int64(p & (1<<offsetBits - 1)) }

func (p Position) String() string {
	return fmt.Sprintf("byte %d of file %d", p.Offset(), p.Generation())
}
