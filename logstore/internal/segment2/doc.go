// Package segment2 writes and reads version 2 of the immutable files that
// blocks are kept in.
//
// A segment is self-contained: its index, its labels and all checksums are in
// it, so it can be copied to another machine, or to a store of objects, and be
// read there by ranges. Its last 64 KiB say what it has; each part of the index
// is one range, with its neighbours where they are needed too, and so is a block
// with all that belongs to it.
//
// A reader in Python that was made from this comment, and those of the packages block,
// column and template, is in logstore/testdata/readsegment.
//
// # Layout
//
// All integers are little endian, all checksums CRC-32C, uvarints those of
// encoding/binary, signed ones zigzag. A "step" is a difference to the one
// before, which is 0 for the first unless said otherwise; "signed" where it may
// be negative:
//
//	header
//	label frames
//	block frames
//	dictionary frames
//	filters
//	sections
//	section table
//	footer
//
// Nothing lies between these parts, so each byte of a segment has a checksum. A
// segment without streams has neither frames nor filters, and of the sections
// below only the last, origin, and those that belong to the log. One without blocks of
// codec 2 has no dictionary frames, and no sections of the types 16, 18 and 19.
//
// The header:
//
//	offset  bytes
//	0       8  "STELESEG"                  40   8  after
//	8       4  version                     48   8  upto
//	12      8  salt: random                56   4  generation
//	20      4  checksum of bytes 0 to 20   60   4  0
//	24     16  id of the log               64   8  term of upto
//	                                       72   8  term of after
//	                                       80   8  created
//	                                       88   4  0
//	                                       92   4  checksum of bytes 24 to 92
//
// # Labels
//
// The key of a stream is the length of its tenant's name (1 byte), that name,
// and the labels: for each, in the order of names, the length of the name (uvarint), the
// name, the length of the value (uvarint), and the value, all of them UTF-8. The metadata
// of a row is encoded in the same way. Ordinals number the streams from 0 in the order of their
// keys, so those of a tenant are contiguous. A chunk is consecutive streams: 512
// at most, whose keys have 16 KiB at most; a longer key has a chunk of its own.
// A label frame holds a chunk:
//
//	0   4  checksum of the salt (8 bytes), the frame's offset (8), and bytes 4 to 32
//	4   4  "LABL"
//	8   4  number of the chunk
//	12  4  bytes of the keys, before compression
//	16  4  first ordinal
//	20  4  streams
//	24  4  bytes of the keys as stored
//	28  4  checksum of those
//	32     the keys
//
// A frame copied to another offset or file is not valid, and no line can be
// crafted to look like one. Each key is how many bytes it shares with the one
// before (uvarint; the first shares none), how many follow (uvarint), and those.
//
// Bytes are compressed with zstd where that makes them smaller: they are if the
// stored size is less than the size before. They are not if there are more than
// 8 MiB, or more than 64 KiB and 256 times what would be stored: so a reader
// allocates in proportion to what is there.
//
// # Blocks
//
//	0   4  checksum of the salt, the frame's offset, and bytes 4 to 40
//	4   4  "BLOK"
//	8   4  number of the block
//	12  2  codec: 1 or 2, the version of package block
//	14  2  dictionary: one more than the instance of its section, 0: none, with codec 1
//	16  4  bytes of the list
//	20  4  bytes of the positions
//	24  4  bytes of the block
//	28  4  checksum of the list
//	32  4  checksum of the positions
//	36  4  checksum of the block
//	40     list, positions (0 bytes if they were lost), block
//
// The list has for each run, in the order of rows (a run is consecutive rows of
// one stream, by time):
//
//	ordinal  uvarint step
//	seq      uvarint: orders the runs of a stream
//	rows     uvarint
//
// A block has streams of one tenant only. All blocks of a tenant are adjacent,
// in the order of tenants. Of the rest of the file, a frame needs only the
// labels of its ordinals.
//
// The positions tell where each row was in the log: the position of its record
// and its place, which is its rank among the entries of its stream in that
// record. They begin with a byte of flags: 1, what follows is the size before
// compression (uvarint) and a zstd frame. Before compression, six columns, the
// sizes of the first five before them (uvarints):
//
//	heads        for each run, the position of its first row (signed step)
//	places       for each run, the place of its first row (uvarint)
//	same         for each later row of a run, a bit: it has the position of the row before, and the next place
//	next         for each of the others, a bit: it has the next position, and place 0
//	steps        for each of the rest, its position (signed step, to the row before)
//	step places  for each of the rest, its place (uvarint)
//
// Positions do not depend on their file: a merge copies them. Of a block of codec 2 it
// rewrites the table (package block), which refers to the dictionary.
//
// # Dictionaries
//
// Blocks of codec 2 refer to a dictionary of templates, encoded as package template
// says. A segment has one, or several if the templates do not fit in one; it has the
// templates of its blocks, in the order of their first use. No block can be read without
// its dictionary, so each is there twice: in a section, and in a frame, which is found
// without the index:
//
//	0   4  checksum of the salt, the frame's offset, and bytes 4 to 32
//	4   4  "SLOT"
//	8   4  instance of the section
//	12  4  bytes of the dictionary, before compression
//	16  4  templates
//	20  4  0
//	24  4  bytes of the dictionary as stored
//	28  4  checksum of those
//	32     the dictionary, compressed as keys are
//
// Each frame is a section too. It is needed, so a program that does not know codec 2
// refuses the segment.
//
// For example, with the salt and at the offset of the filter in the worked example below,
// a dictionary of "GET <*> took <*>" and the template of a single slot:
//
//	d4 6b e4 28 53 4c 4f 54  00 00 00 00 11 00 00 00
//	02 00 00 00 00 00 00 00  11 00 00 00 64 6c bf d4
//	01 02 47 45 54 20 00 20  74 6f 6f 6b 20 00 01 00
//	01
//
// # Sections
//
// Filters (package filter) follow each other in the order of blocks, without
// anything between them. Sections follow, the smallest ones last. An entry of
// the section table:
//
//	0   2  type                       16  8  bytes
//	2   2  flags                      24  8  bytes before compression, or of the part table
//	4   4  items                      32  4  checksum
//	8   8  offset                     36  4  instance
//
// Entries are in the order of offsets. Flags:
//
//	1  needed: a reader that does not know the type refuses the segment
//	2  kept: a merge copies the section though it does not know the type
//	4  parts: see below
//
// A section is compressed as keys are, and its checksum is that of the stored
// bytes. One of parts ends with a table that has for each part its bytes as
// stored and before compression (uvarints) and a checksum (4 bytes); the parts
// lie before it, in order. The entry's checksum is then that of the table.
// Sections 6 and 8 have the checksum 0: those of their parts are in zones and
// groups. Each of these checksums stands beside the place of its part, so two
// parts cannot be exchanged unseen.
//
// Dictionaries and tables lie before the groups: one read far away has what tells which
// blocks to read.
//
// A set is described in package filter, whose KeyOf makes the hashes.
//
//	type                 items
//	1   label directory  chunks         parts: directory, then filters of 64 chunks each
//	2   label parity     groups         parts: a group each
//	3   postings         names          parts: directory, then postings
//	4   stream filter    parts          parts: by key
//	5   streams          streams        parts: 512 ordinals each
//	6   groups           blocks         checksums in section 7
//	7   zones            groups
//	8   filters          blocks         checksums in section 6
//	9   label summary    names
//	10  tenants          tenants
//	11                                  reserved
//	12  keys             keys           parts: 2,048 keys at most
//	13  sources          sources        parts: 512 sources at most
//	14                                  reserved
//	15                                  reserved
//	16  dictionary       templates      needed
//	17  origin           1
//	18  tables           blocks         parts: a group each
//	19  dictionary frame templates      needed; the copy of the dictionary with its instance
//	20 to 31                            reserved for codecs
//
// No program writes a section that is reserved. A merge refuses a segment that has 11, 14
// or 15.
//
// Label directory: for each chunk the bytes of its keys as stored, how many
// streams it has (uvarints), and a separator: the shortest bytes that no key of
// the chunk precedes and that follow every key before it. Separators are encoded
// as keys are, but each 16th shares nothing. The first chunk is behind the
// header, and chunks follow each other. In the other parts, for each chunk, a set
// with its size before it (uvarint): of the hashes of each label of the chunk's
// streams, encoded as in labels, and of each name alone, with its size before
// it.
//
// Label parity: chunk i is in group i mod G, where G is the number of groups, a
// power of two of at most 256. A part has the exclusive or of the sizes of the
// group's frames (4 bytes), and of the frames, each padded with zeros. So any
// frame can be rebuilt from the others of its group; a single one is here as a
// copy. G is the lowest with 16 chunks a group, or 256.
//
// Postings have each name with at most 1,024 values, none of which has more than
// 1 KiB, nor the name. The largest ones are left out where all would take more
// than 8 MiB of memory while they are written. For each value, in the order of
// names and values: the name and the value, each encoded as separators are, the
// bytes of its runs (uvarint), and for each run of ordinals how many there are
// between it and the run before, and how many it has, less 1 (uvarints). A part
// ends with the value that makes it 64 KiB before compression or more. The
// directory has flags (uvarint; 1: every name of the segment is here), and for
// each other part the first name and the first value, each with its size before
// it (uvarint).
//
// Stream filter: a set for each part of the hashes of keys. With n parts, a
// power of two, a hash is in the part of its highest log2(n) bits.
//
// Streams, by columns:
//
//	seqs        for each stream: 0, it has one run, whose seq is 0; 1, none; else one more than the seq after its last
//	rows, raw   uvarints, for each stream with seqs of 2 or more
//	first time  signed step, for each of these
//	span        uvarint, for each of these
//
// What a stream with one run has is in the entry of that run.
//
// Groups: 256 blocks at most, with 16,384 runs at most unless it is one block.
// Each has two parts. The first parts of all groups follow each other, so that
// they can be read at once, and then the second ones. The first has flags (1
// byte, 0), and for each block, by columns:
//
//	bytes of list, positions, block, filter          uvarints
//	codec, dictionary, rows, raw, runs               uvarints
//	first time                                       signed step; the first less that of the zone
//	span                                             uvarint
//	lowest ordinal                                   signed step; the first less that of the zone
//	highest ordinal less lowest                      uvarint
//	checksum of the block                            4 bytes
//	checksum of the filter                           4 bytes
//
// The second has flags (1 byte, 0), and for each run of these blocks, by columns:
//
//	ordinal     uvarint step; the first of a block less its lowest ordinal
//	seq, rows   uvarints
//	first time  signed step; the first less that of the zone
//	span, raw   uvarints
//
// Zones, 104 bytes a group:
//
//	0   8  offset of the first part       44   4  rows
//	8   4  bytes of it as stored          48   8  offset of the frame of the first block
//	12  4  bytes before compression       56   8  offset of the filter of the first block
//	16  4  checksum                       64   4  bytes of the filters
//	20  4  bytes of the second part       68   4  lowest ordinal
//	24  4  bytes before compression       72   4  highest ordinal
//	28  4  checksum                       76   4  0
//	32  4  first block                    80   8  first time
//	36  4  blocks                         88   8  last time
//	40  4  runs                           96   8  raw: bytes of lines and metadata
//
// Tables: for each group, which templates its blocks have, by columns:
//
//	flags      1 byte; 1: nothing follows, as it would take more than 8 MiB
//	templates  for each block: how many it has, 0 with codec 1 (uvarint)
//	numbers    for each of these, its number in the dictionary of the block (signed step; that of the first of a block is to 0)
//	rows       for each of these, how many rows of the block are of it (uvarint)
//
// They are those that the tables of the blocks have, in their order. For example, of a
// block with 5 rows of the template 3 and 9 of the template 1, behind one of codec 1:
//
//	00  00 02  06 03  05 09
//
// Label summary, 2 KiB at most: flags (1 byte; 1: every name is here), and for
// each name its size (uvarint), the name, and a kind (1 byte): 0, it may have any
// value; 1, the number of its values (uvarint), and each with its size before it
// (uvarint); 2, a set of the hashes of its values, with its size before it
// (uvarint).
//
// Tenants: for each the size of its name (1 byte), the name, and its streams,
// blocks, bytes of block frames, bytes of filters, rows, raw (uvarints); if it
// has rows, first time (signed, less that of the segment) and span (uvarint). The
// streams, blocks and filters of a tenant are contiguous, in the order of
// tenants.
//
// Keys: what is remembered of the batches with a key whose last record, or one of
// whose records, is in the segment, and that were young enough when it was written.
// A part, by columns:
//
//	keys      uvarint: how many
//	tenants   uvarint: how many; for each the size of its name (1 byte), and the name
//	tenant    for each key, which of these (uvarint, from 0)
//	came      for each key, when the batch came, in seconds since the Unix epoch (signed step)
//	position  for each key, that of the batch's last record in the segment (signed step)
//	handled   for each key, twice the entries of the batch up to there, those that were refused included, plus 1 if it goes on behind (uvarint)
//	key       for each key, 16 bytes
//
// They are nearly in the order of their positions. For example, the batch "sixteen
// letters." of 3 entries, at position 5, and the first 7 entries of "and another one.",
// at position 6, both of the tenant "t" at the times 1,000 and 1,001:
//
//	02  01 01 74  00 00  d0 0f 02  0a 02  06 0f
//	73 69 78 74 65 65 6e 20 6c 65 74 74 65 72 73 2e
//	61 6e 64 20 61 6e 6f 74 68 65 72 20 6f 6e 65 2e
//
// Sources: for each source of entries that the store knew at the position Upto the
// offset of its last entry, whichever segment has that. So of many segments only the
// newest one that has this section counts. One that knew none has none, nor has one
// that was salvaged without it. A part, by columns:
//
//	sources   uvarint: how many
//	tenants   as those of keys
//	tenant    for each source, which of these (uvarint, from 0)
//	name      for each source, encoded as the keys of streams are
//	offset    for each source, that of its last entry (uvarint)
//	position  for each source, that of the record with that entry (uvarint)
//
// Sources are in the order of tenants, and of their names. For example, "a/1" up to
// the offset 9 at position 5, and "a/2" up to 200 at position 4, of the tenant "":
//
//	02  01 00  00 00  00 03 61 2f 31 02 01 32  09 c8 01  05 04
//
// Origin:
//
//	0   8  term of upto
//	8   8  term of after
//	16  8  deletes at lower positions have been applied
//
// The footer:
//
//	0    8  after               64  16  id of the log
//	8    8  upto                80   8  salt
//	16   8  created             88   8  offset of the section table
//	24   8  first time          96   4  generation
//	32   8  last time           100  4  bytes of the section table
//	40   8  rows                104  4  checksum of the section table
//	48   8  raw                 108  4  streams
//	56   8  bytes of the file   112  4  version
//	                            116  4  checksum of the bytes before
//	                            120  8  "STELEEND"
//
// The first 24 bytes of the header and the last 16 of the footer mean the same
// in every version: a program that knows version 1 only reports the version, and
// takes nothing for damage.
//
// # What damage does
//
// With any damage, no row is returned that was not written, and no row is left
// out without an error. One damaged place loses at most one block:
//
//	a label frame             nothing: it is rebuilt from its parity group, and so are up to G adjacent ones
//	a block                   its rows
//	the header of a block     nothing: the index has it
//	its list                  nothing: the index has it
//	its positions             the positions of its rows
//	a filter                  nothing: the block is always read
//	a dictionary              nothing: its frame has it
//	a dictionary frame        nothing: its section has it
//	the tables                nothing: the blocks have them
//	a section of the index    nothing: the blocks have what it says
//	the keys                  those of the part
//	the sources               all of them; an older segment may have most
//	the footer                nothing: Scan finds the blocks
//	the header                nothing: the footer has the salt
//
// Two damaged label frames of one parity group lose the labels of their streams:
// the lines of these cannot be read, and those of other streams can. If a dictionary is
// damaged in both of its places, no block that refers to it can be read: one of them is
// found by its frame alone, the other by the footer alone, so a damaged frame and a damaged
// footer are both. If both the header and the footer are damaged, no block can be found.
//
// Salvage writes what is intact into a new segment, without rows whose stream has
// lost its labels.
//
// # A worked example
//
// One block, "rows", of two streams of the tenant "": {app="api"} with two rows
// at the times 5 and 6, and {app="web"} with one at 7, with 10 and 4 bytes. The
// first stream's entries were the record at position 1, the other's that at
// position 3. The filter is "words". After 0, upto 3, generation 1, created at
// 9, the log "the id of a log.", terms 2 and 1, salt 0x0123456789abcdef.
//
// The header:
//
//	0000  53 54 45 4c 45 53 45 47  02 00 00 00 ef cd ab 89
//	0010  67 45 23 01 d9 dd d7 57
//	0018  74 68 65 20 69 64 20 6f  66 20 61 20 6c 6f 67 2e
//	0028  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
//	0038  01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00
//	0048  01 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00
//	0058  00 00 00 00 a4 53 0a aa
//
// The label frame:
//
//	0060  bb 53 55 83 4c 41 42 4c  00 00 00 00 10 00 00 00
//	0070  00 00 00 00 02 00 00 00  10 00 00 00 cf 8f f1 0f
//	0080  00 09 00 03 61 70 70 03  61 70 69 06 03 77 65 62
//
// The block frame, with list, positions and block:
//
//	0090  45 ea 7e 23 42 4c 4f 4b  00 00 00 00 01 00 00 00
//	00a0  06 00 00 00 0b 00 00 00  04 00 00 00 76 4e 67 bf
//	00b0  ad fd 57 64 4d 09 9b af
//	00b8  00 00 02 01 00 01
//	00be  00 02 02 01 00 00 02 04  00 00 01
//	00c9  72 6f 77 73
//
// The filter:
//
//	00cd  77 6f 72 64 73
//
// Label parity: a copy of the frame, and the part table:
//
//	00d2  30 00 00 00 bb 53 55 83  4c 41 42 4c 00 00 00 00
//	00e2  10 00 00 00 00 00 00 00  02 00 00 00 10 00 00 00
//	00f2  cf 8f f1 0f 00 09 00 03  61 70 70 03 61 70 69 06
//	0102  03 77 65 62
//	0106  34 34 b9 71 e2 4f
//
// Streams, and the part table:
//
//	010c  00 00
//	010e  02 02 d2 77 61 f1
//
// Groups, the blocks and the runs:
//
//	0114  00 06 0b 04 05 01 00 03  0e 02 00 02 00 01 4d 09
//	0124  9b af 72 e1 2a 68
//	012a  00 00 01 00 00 02 01 00  04 01 00 0a 04
//
// Stream filter, and the part table:
//
//	0137  01 00 00 00 7a 00 00 d3  00 00
//	0141  0a 0a 29 04 33 0e
//
// Postings: directory, a part, the part table:
//
//	0147  01 03 61 70 70 03 61 70  69
//	0150  00 03 61 70 70 00 03 61  70 69 02 00 00 03 00 00
//	0160  03 77 65 62 02 01 00
//	0167  09 09 5c ae 38 14 17 17  92 c0 8b 5a
//
// Label directory, the filter of the chunk, the part table:
//
//	0173  10 02 00 00
//	0177  0e 02 00 00 00 4a 00 00  00 4b 00 00 00 00 14
//	0186  04 04 f7 a8 6c ee 0f 0f  09 72 66 f8
//
// Tenants:
//
//	0192  00 02 01 3d 05 03 0e 00  02
//
// Zones:
//
//	019b  14 01 00 00 00 00 00 00  16 00 00 00 16 00 00 00
//	01ab  65 1b ee b2 0d 00 00 00  0d 00 00 00 e2 f4 9a 91
//	01bb  00 00 00 00 01 00 00 00  02 00 00 00 03 00 00 00
//	01cb  90 00 00 00 00 00 00 00  cd 00 00 00 00 00 00 00
//	01db  05 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00
//	01eb  05 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00
//	01fb  0e 00 00 00 00 00 00 00
//
// Label summary:
//
//	0203  01 03 61 70 70 01 02 03  61 70 69 03 77 65 62
//
// Origin:
//
//	0212  02 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00
//	0222  00 00 00 00 00 00 00 00
//
// The section table:
//
//	022a  08 00 00 00 01 00 00 00  cd 00 00 00 00 00 00 00
//	023a  05 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00
//	024a  00 00 00 00 00 00 00 00
//	0252  02 00 04 00 01 00 00 00  d2 00 00 00 00 00 00 00
//	0262  3a 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00
//	0272  1d f8 b8 23 00 00 00 00
//	027a  05 00 04 00 02 00 00 00  0c 01 00 00 00 00 00 00
//	028a  08 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00
//	029a  5c 34 c9 e3 00 00 00 00
//	02a2  06 00 00 00 01 00 00 00  14 01 00 00 00 00 00 00
//	02b2  23 00 00 00 00 00 00 00  23 00 00 00 00 00 00 00
//	02c2  00 00 00 00 00 00 00 00
//	02ca  04 00 04 00 01 00 00 00  37 01 00 00 00 00 00 00
//	02da  10 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00
//	02ea  6d 6c ce e3 00 00 00 00
//	02f2  03 00 04 00 01 00 00 00  47 01 00 00 00 00 00 00
//	0302  2c 00 00 00 00 00 00 00  0c 00 00 00 00 00 00 00
//	0312  28 2a 92 0e 00 00 00 00
//	031a  01 00 04 00 01 00 00 00  73 01 00 00 00 00 00 00
//	032a  1f 00 00 00 00 00 00 00  0c 00 00 00 00 00 00 00
//	033a  83 a6 d5 37 00 00 00 00
//	0342  0a 00 00 00 01 00 00 00  92 01 00 00 00 00 00 00
//	0352  09 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00
//	0362  e7 3c 08 8b 00 00 00 00
//	036a  07 00 00 00 01 00 00 00  9b 01 00 00 00 00 00 00
//	037a  68 00 00 00 00 00 00 00  68 00 00 00 00 00 00 00
//	038a  52 b2 1d 03 00 00 00 00
//	0392  09 00 00 00 01 00 00 00  03 02 00 00 00 00 00 00
//	03a2  0f 00 00 00 00 00 00 00  0f 00 00 00 00 00 00 00
//	03b2  b2 71 ec 7d 00 00 00 00
//	03ba  11 00 00 00 01 00 00 00  12 02 00 00 00 00 00 00
//	03ca  18 00 00 00 00 00 00 00  18 00 00 00 00 00 00 00
//	03da  fd 12 84 07 00 00 00 00
//
// The footer:
//
//	03e2  00 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
//	03f2  09 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00
//	0402  07 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
//	0412  0e 00 00 00 00 00 00 00  62 04 00 00 00 00 00 00
//	0422  74 68 65 20 69 64 20 6f  66 20 61 20 6c 6f 67 2e
//	0432  ef cd ab 89 67 45 23 01  2a 02 00 00 00 00 00 00
//	0442  01 00 00 00 b8 01 00 00  93 db cf 54 02 00 00 00
//	0452  02 00 00 00 9b 6a 51 31  53 54 45 4c 45 45 4e 44
package segment2
