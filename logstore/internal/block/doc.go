// Package block encodes rows of a log, each a time, a line and metadata, into
// blocks, and decodes them. A block is one piece of bytes that stands for
// itself: it needs no dictionary, and can be copied anywhere.
//
// Nothing here knows of files. A block that is not as it was encoded is
// refused with an error that wraps [ErrDamaged], whatever its bytes are, and
// before memory is used that a block of [MaxRows] rows and [MaxRaw] bytes
// would not need. Times are decoded without the lines, as most blocks that a
// query looks at are ruled out, or counted, by them alone.
//
// # Layout
//
// The first byte of a block is the version of all the rest, so that a block of
// another layout can stand beside these. Version 1 is a head, and six sections
// one behind the other. Integers are little endian, checksums CRC-32C:
//
//	offset  bytes
//	0       1   version, 1
//	1       1   bit i: section i is a zstd frame, else as it is
//	2       2   0
//	4       4   rows, from 1 to 2^20
//	8       12  section 0, times:         stored bytes, raw bytes, checksum of the stored ones
//	20      12  section 1, time bits
//	32      12  section 2, lines
//	44      12  section 3, line lengths
//	56      12  section 4, metadata
//	68      12  section 5, metadata lengths
//	80      4   checksum of the bytes before
//	84          sections
//
// A section is compressed by itself where that makes it smaller, so each can be
// read without the others. One that has no bytes has no checksum (0).
//
// Times, in nanoseconds:
//
//	0   8   the first time
//	8       the unit g (uvarint), which divides all differences of neighbours
//	    1   order, 1 or 2
//	    1   width w, from 0 to 56
//	        for each other row the step shifted right by w bits, as a zigzag varint
//
// At order 1 the step of a row is the difference to the row before, divided by
// g, at order 2 by how much that differs from the one before it, the first
// from 0. Steps wrap around at 2^64, so any times in any order can be
// encoded. Order 2 is for a beat, 1 for chance; the encoder takes the one that
// has fewer bits. Time bits are the lower w bits of each step, one behind the
// other from the lowest bit of the first byte on, padded with zeros. They are
// noise: a clock of nanoseconds has some 20 of them, which only get in the
// way of the compressor.
//
// Lines are all lines, each followed by the byte 0xff, which is in no text in
// UTF-8. Only if some line has that byte in it there are line lengths, a uvarint
// for each row; else that section is empty. (Inside the lines the compressor
// learns where they end: lengths beside them took half a byte a line more.)
// Metadata and its lengths are encoded like lines. Both are empty if no row has any.
//
// # A worked example
//
// Three rows, a millisecond apart: at 1,700,000,000,000,000,000 "GET /a" with
// the metadata "id=1", then "GET /b", then an empty line. Nothing is long
// enough to be compressed.
//
//	0000  01 00 00 00 03 00 00 00
//	0008  0f 00 00 00 0f 00 00 00 6b d4 45 50
//	0014  00 00 00 00 00 00 00 00 00 00 00 00
//	0020  0f 00 00 00 0f 00 00 00 13 d8 b8 a8
//	002c  00 00 00 00 00 00 00 00 00 00 00 00
//	0038  07 00 00 00 07 00 00 00 5d 18 df 16
//	0044  00 00 00 00 00 00 00 00 00 00 00 00
//	0050  d3 9d bc 54
//	0054  00 00 2a 36 fe 9c 97 17 c0 84 3d 02 00 02 00
//	0063  47 45 54 20 2f 61 ff 47 45 54 20 2f 62 ff ff
//	0072  69 64 3d 31 ff ff ff
package block
