// Package block encodes rows of a log, each a time, a line and metadata, into
// blocks, and decodes them. A block is self-contained: it needs no dictionary,
// and can be copied anywhere.
//
// The package knows nothing of files. A block that is not as it was encoded is
// refused with an error that wraps [ErrDamaged]. No bytes make a Decoder use
// more memory than a block of [MaxRows] rows and [MaxRaw] bytes needs. Times
// are decoded without the lines, because most blocks that a query reads are
// ruled out, or counted, by their times alone.
//
// # Layout
//
// The first byte of a block is the version of its layout, so that blocks of
// different layouts can be mixed. Version 1 is a header and six consecutive
// sections. Integers are little endian, checksums CRC-32C:
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
// Each section is compressed by itself, where that makes it smaller, so it can
// be read without the others. The checksum of an empty section is 0.
//
// Times, in nanoseconds:
//
//	0   8   the first time
//	8       the unit g (uvarint), which divides all differences of neighbours
//	    1   order, 1 or 2
//	    1   width w, from 0 to 56
//	        for each other row the step shifted right by w bits, as a zigzag varint
//
// At order 1 the step of a row is the difference to the previous row, divided
// by g; at order 2 it is the change of that difference, which begins at 0.
// Steps wrap around at 2^64, so any times in any order can be encoded. Order 2
// suits regular times, order 1 random ones; the encoder takes the one with
// fewer bits. Time bits are the lower w bits of each step, packed from the
// lowest bit of the first byte on, and padded with zeros. They are noise: a
// nanosecond clock has some 20 of them, which would only hinder the compressor.
//
// The section of lines has all lines, each followed by the byte 0xff, which
// UTF-8 never contains. The section of line lengths is empty, unless a line
// contains that byte: then it has a uvarint for each row. (With the separators
// among the lines the compressor learns where lines end: separate lengths took
// half a byte a line more.) Metadata and its lengths are encoded like lines.
// Both are empty if no row has metadata.
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
