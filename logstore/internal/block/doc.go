// Package block encodes rows of a log, each a time, a line and metadata, into
// blocks, and decodes them. A block of version 1 is self-contained, and can be copied
// anywhere. One of version 2 needs the dictionary of templates that its table refers to:
// see package template.
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
// different layouts can be mixed. Integers are little endian, checksums CRC-32C,
// uvarints those of encoding/binary, varints zigzag.
//
// # Version 1
//
// A header and six consecutive sections:
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
// # Version 2
//
// A line is a template, of which the dictionary has the literals, and a variable in each
// of its slots: the first literal, the first variable, the second literal, and so on.
//
//	offset  bytes
//	0       1   version, 2
//	1       1   1 if the head is a zstd frame, else 0
//	2       2   0
//	4       4   rows, from 1 to 2^20
//	8       4   stored bytes of the head
//	12      4   raw bytes of the head
//	16      4   templates in the table, at most 2^16 and one a row
//	20      4   checksum of the head as stored
//	24      4   bytes of the table
//	28      4   checksum of the table
//	32      4   stored bytes of the times
//	36      4   raw bytes of the times: if more, they are a zstd frame
//	40      4   checksum of the times as stored, 0 if they have no bytes
//	44      4   bytes of the time bits with their marks, which are as they are
//	48      4   checksum of these, 0 if they have no bytes
//	52      4   checksum of the bytes before
//	56          table, times, time bits, head, other sections
//
// So the first bytes of a block tell its times.
//
// The table has the templates of the rows. It is never compressed, and it is all that
// depends on the dictionary: a merge writes it and the header anew, and copies the rest.
// For each template:
//
//	its number in the dictionary (varint: the difference to the one before, at first to 0)
//	how many rows have it        (uvarint, at least 1)
//
// A template may be there more than once: some lines have it by their tokens, and others by
// their chunks.
//
// The head says in which column the variables of each slot are. Slots share a column where
// their variables may have something in common:
//
//	columns (uvarint, at most 4,096)
//	for each template of the table, how many slots it has (uvarint), and for each the number of its column (uvarint)
//	for each column
//	    bytes in the section of packed bytes  (uvarint)
//	    bytes of its text                     (uvarint)
//	    where that is (uvarint): 0, in the section of texts; else in a section of its own,
//	        which is the first (1) for the first such column, the second (2) for the next one, ...
//	sections but those of times (uvarint)
//	for each of these
//	    raw bytes                             (uvarint)
//	    how many fewer are stored (uvarint): 0, it is as it is; else it is a zstd frame
//	    checksum of the stored ones           (4 bytes, 0 of an empty section)
//
// The sections follow each other, but for the head between times and rows:
//
//	0  times            as in version 1
//	1  time bits        as in version 1, and marks
//	2  rows             for each row the place of its template in the table, from 0 (1 byte); if the table has more
//	                    than 256, the low bytes of all rows, then the high ones
//	3  packed           the packed bytes of all columns, in order
//	4  texts            the texts of all columns that have none of their own, in order
//	5  metadata         as section 4 of version 1
//	6  metadata lengths as section 5 of version 1
//	7  and on           texts of single columns
//
// Marks let a reader decode some times without those before. Each 128th row but the first has
// one:
//
//	the sum, modulo 2^64, of the differences of neighbours, each divided by g, from the row of the mark before to this one (varint)
//	at order 2: the last of these differences, less that sum, as a signed number, shifted right by 7 bits (varint)
//
// A column has the variables of its slots in the order of rows, and in the order of slots
// where several of one template have the same column. Package column has the layout of its packed bytes
// and its text, which needs the number of these variables, and the times of their rows.
//
// A template of one slot and two empty literals keeps whole lines: those that have little
// in common with others.
//
// # What damage does
//
// A block of version 1 gives its times though other sections are damaged, and its lines
// though times are. One of version 2 gives its times though anything but these and the header
// is damaged: see Decoder.OpenTimes. It gives no line if the header, the table or the head is
// damaged, or a section that has a part of some line. Other blocks are as they were. A block
// with the wrong dictionary is refused if that has not as many templates, or one has other
// slots; else its lines are wrong, so the file that has both must tell which belongs to which.
//
// The time of a row that has a mark may be taken from the mark, and rows may be searched by
// marks. Where checksums match but a mark is not that of its row, counts by time may differ from
// those by lines. A reader that decodes the times before the mark refuses them.
//
// # Worked examples
//
// In version 1: three rows, a millisecond apart: at 1,700,000,000,000,000,000 "GET /a" with
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
//
// In version 2: four rows, a millisecond apart, from 1,700,000,000,000,000,000 on,
// "GET /items/7 took 1.5 ms", the same with 8 and 2.5, 9 and 3.5, 20 and 4.5; then "bye".
// The first has the metadata "id=1". The dictionary has two templates, "GET /items/",
// " took ", " ms", and the one of whole lines:
//
//	01 02 47 45 54 20 2f 69 74 65 6d 73 2f 00 20 74 6f 6f 6b 20 00 20 6d 73 01 00 01
//
// The header:
//
//	0000  02 00 00 00 05 00 00 00 2e 00 00 00 2e 00 00 00
//	0010  02 00 00 00 58 f1 c4 3c 04 00 00 00 30 5c 97 03
//	0020  11 00 00 00 11 00 00 00 04 1f 47 cc 00 00 00 00
//	0030  00 00 00 00 0a b5 4e 63
//
// The table: template 0 with 4 rows, template 1 with 1 row:
//
//	0038  00 04 02 01
//
// Times, without time bits:
//
//	003c  00 00 2a 36 fe 9c 97 17 c0 84 3d 02 00 02 00 00 00
//
// The head: 3 columns, of which the slots of the first template have 0 and 1, that of the
// second has 2; their bytes; 5 sections:
//
//	004d  03 02 00 01 01 02
//	0053  06 00 00 0a 00 00 02 03 00
//	005c  05
//	005d  05 00 36 f5 19 b7 12 00 2a 51 14 39
//	0069  03 00 8c 82 f2 6c 09 00 e9 84 96 65
//	0075  00 00 00 00 00 00
//
// The templates of the rows; packed: integers from 7 on of 4 bits each, decimals
// from 1.5 on in steps of 1.0, a constant of 3 bytes; texts: the constant; metadata:
//
//	007b  00 00 00 00 01
//	0080  03 01 0e 04 10 d2 06 01 cc 1e 0a 03 00 01 00 00 00 03
//	0092  62 79 65
//	0095  69 64 3d 31 ff ff ff ff ff
package block
