// Package segment reads version 1 of the immutable files that blocks are kept in.
// Stores write version 2 (package segment2), and convert version 1 when they compact or
// repair it.
//
// A segment is self-contained: its index and all checksums are in it, so it can
// be copied to another machine, or to a store of objects, and be read there by
// ranges. It is opened by its footer, without reading a block; a block, a filter
// and the runs of a stream are one range each.
//
// # Layout
//
// All integers are little endian, all checksums CRC-32C, uvarints those of
// encoding/binary, signed ones zigzag:
//
//	header
//	frames of blocks, and between them, every 256 KiB, those of their filters
//	list of runs of each stream, by labels
//	table of blocks
//	table of streams
//	footer
//
// Filters are adjacent, so that testing many of them reads few pages. The
// header:
//
//	offset  bytes
//	0       8  "STELESEG"
//	8       4  version, 1
//	12      8  salt: random
//	20      4  checksum of the bytes before
//
// A frame:
//
//	0   4  checksum of the salt (8 bytes), the frame's offset (8), and bytes 4 to 28
//	4   4  "BLOK" or "FLTR"
//	8   4  number of the block
//	12  4  bytes of the list, 0 for a filter
//	16  4  bytes of the block (package block) or filter (package filter)
//	20  4  checksum of the list
//	24  4  checksum of the block or filter
//	28     list of the runs in the block, then the block or filter
//
// So a frame copied to another offset or file is not valid, and no line can be
// crafted to look like one. The list has for each run, in the order of rows:
//
//	labels      how many bytes are those of the labels before, how many follow
//	            (uvarints), and those; each 16th stands for itself
//	seq         uvarint: orders the runs of a stream
//	rows        uvarint
//	time        of the first row, signed, less that of the run before
//	span        uvarint, to the time of the last row
//	raw         uvarint, bytes of lines and metadata
//
// The list of a stream has for each run, by seq, less those of the run before
// where a sign or "step" says so:
//
//	block       signed step
//	first       uvarint, row of the block
//	rows        uvarint
//	time        signed step
//	span, raw   uvarints
//	seq         uvarint step
//
// The table of blocks has for each:
//
//	0   8  offset of the frame
//	8   4  bytes of the list
//	12  4  bytes of the block
//	16  4  checksum of the block
//	20  8  offset of the filter's frame
//	28  4  bytes of the filter, 0: it has none, and any line may be in it
//	32  4  rows
//	36  4  bytes of lines and metadata
//	40  4  runs
//
// The table of streams begins with how many bytes all labels have (uvarint),
// and has for each stream, by labels:
//
//	labels      as above
//	time        uvarint, the first less that of the segment
//	span        uvarint, to the last
//	rows, raw   uvarints
//	seqs        uvarint, one more than the highest seq
//	size        uvarint, bytes of its list of runs; the lists follow each other
//	sum         4 bytes, checksum of the list
//
// The footer:
//
//	0    8  after               64   8  offset of the lists of runs
//	8    8  upto                72   8  offset of the table of blocks
//	16   8  created             80   8  offset of the table of streams
//	24   8  first time          88   8  salt
//	32   8  last time           96   4  generation
//	40   8  rows                100  4  streams
//	48   8  raw                 104  4  checksum of the table of blocks
//	56   8  bytes of the file   108  4  checksum of the table of streams
//	                            112  4  version, 1
//	                            116  4  checksum of the bytes before
//	                            120  8  "STELEEND"
//
// # What damage does
//
// With any damage, no row is returned that was not written, and no row is left
// out without an error. Checksums are verified whenever a block, a list or a
// table is read; that of a filter on first use after Open or Trim. Later damage
// to a filter, in memory or in the page cache, is detected by Verify only.
//
// The frame of a block has everything that the index has of it. So one damaged
// place loses at most one block:
//
//	a block                   its rows
//	the header of a block     nothing: the index has it
//	its list of runs          nothing: the index has it
//	a filter                  nothing: the block is always read
//	a stream's list of runs   nothing: the blocks have their own
//	a table, or the footer    nothing: Scan finds the blocks
//	the header                nothing
//
// segment2.SalvageSource writes an intact segment of the intact blocks. If both
// the header and the footer are damaged, no block can be found.
//
// # A worked example
//
// One block, "rows", of two streams, {app="api"} with two rows at the times 5 and 6,
// and {app="web"} with one at 7, with 10 and 4 bytes; its filter is "words". After
// 0, upto 3, generation 1, created at 9, salt 0x0123456789abcdef.
//
//	0000  53 54 45 4c 45 53 45 47  01 00 00 00 ef cd ab 89
//	0010  67 45 23 01 89 a1 45 04
//	0018  9f a0 fd ed 42 4c 4f 4b  00 00 00 00 19 00 00 00
//	0028  04 00 00 00 1a fa ea e2 4d 09 9b af
//	0034  00 08 03 61 70 70 03 61  70 69 00 02 0a 01 0a 05
//	0044  03 77 65 62 00 01 04 00 04
//	004d  72 6f 77 73
//	0051  44 17 c8 b1 46 4c 54 52  00 00 00 00 00 00 00 00
//	0061  05 00 00 00 00 00 00 00 72 e1 2a 68
//	006d  77 6f 72 64 73
//	0072  00 00 02 0a 01 0a 00
//	0079  00 02 01 0e 00 04 00
//	0080  18 00 00 00 00 00 00 00 19 00 00 00 04 00 00 00 4d 09 9b af 51 00
//	0096  00 00 00 00 00 00 05 00 00 00 03 00 00 00 0e 00 00 00 02 00 00 00
//	00ac  10 00 08 03 61 70 70 03 61 70 69 00 01 02 0a 01 07 7a 94 2f 9d
//	00c1  05 03 77 65 62 02 00 01 04 01 07 4a b5 28 24
//	00d0  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
//	00e0  09 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00
//	00f0  07 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
//	0100  0e 00 00 00 00 00 00 00  50 01 00 00 00 00 00 00
//	0110  72 00 00 00 00 00 00 00  80 00 00 00 00 00 00 00
//	0120  ac 00 00 00 00 00 00 00  ef cd ab 89 67 45 23 01
//	0130  01 00 00 00 02 00 00 00  a8 87 98 e7 96 c0 4a 71
//	0140  01 00 00 00 11 b0 b9 0c  53 54 45 4c 45 45 4e 44
package segment
