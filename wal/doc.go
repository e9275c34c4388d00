// Package wal is a write-ahead log: records are appended, numbered one after
// the other, and read back in that order after any crash.
//
// # Use
//
//	l, err := wal.Open("log", wal.Options{}) // takes the lock, verifies, cuts a torn tail
//	pos, err := l.Append(ctx, rec)           // returns when rec survives a power cut
//	p := l.AppendAsync(rec)                  // does not wait; p.Wait does
//	for rec, err := range l.All(0) { }       // reads, from the first record on
//	err = l.TruncateBefore(pos)              // gives up what is not needed any more
//	err = l.Close()
//
// Appends of many goroutines share a sync: each write takes all that came
// while the one before was under way, so to add more appenders costs little,
// and there is nothing to tune for that. A goroutine that is alone writes and
// syncs by itself. Appending allocates nothing. [Reader] follows the log as it
// grows, [Inspect] and [Verify] look at one that may be in use elsewhere, as
// the command stele inspect does.
//
// # What survives
//
// A record that Append has acknowledged survives what [Options.Level] says: at
// Power, the default, a power cut, at Kill the end of the process. A record
// that was not acknowledged is there whole or not at all, and if it is, all
// before it are too (durability.Prefix). No record is ever made up: not of
// zeros, of flipped bits, of what a file held in a former life, nor of what
// looks like a record within another one.
//
// Open tells what a crash leaves from damage. The first, a torn tail, is cut
// and told ([Report]); of the second nothing is cut, and the error is a
// [*CorruptError] with file and offset. Checksums are verified on every read.
//
// # Mistakes to avoid
//
//   - A cancelled context does not undo an append. After [ErrUnsure] the record
//     may be there: read before you append it again.
//   - AppendBatch is no transaction. After a crash its first records may be there
//     without the others; what belongs together goes into one record.
//   - Do not go on after [ErrPoisoned], nor sync again: close the log, open it
//     anew, and read what is there.
//   - Record.Data is valid until the next call of the reader. Copy what you keep.
//   - Wait is called once for each Pending, and a Pending that nobody waits for
//     hides its error.
//   - TruncateBefore is what frees the disk. A log that is never truncated grows
//     without end.
//   - At [durability.Kill] a power cut loses the end of the log, at
//     [durability.None] the end of the process does. Set SyncEvery to bound that.
//
// # On the disk
//
// A log is a folder:
//
//	LOCK                  flock(2)ed as long as the log is open; holds the process id
//	META                  which segments belong to the log
//	0000000000000001.wal  segments, numbered from 1 without gaps
//	0000000000000002.wal  the last ones may be prepared: not used yet
//	0000000000000003.new  a segment that is being made; Open removes it
//
// Other names are left alone. All integers are little endian, all checksums
// CRC-32C. A segment is a block with a header, then records:
//
//	offset  bytes           offset  bytes of a record
//	0       8  "STELEWAL"   0       4  checksum of the head
//	8       4  version, 1   4       4  checksum of the payload
//	12      4  0            8       3  length of the payload
//	16     16  id of log    11      1  type
//	32      8  number       12      4  back
//	40      8  size         16      8  position
//	48      8  salt         24         payload
//	56      8  was
//	64      4  checksum of the bytes before
//	4096       records
//
// The checksum of a head is over the segment's salt (8 bytes), the record's
// offset in the file (8 bytes), and bytes 4 to 24 of the head, the payload's
// checksum among them. The salt is random, made for each life of a file. So
// what stands at another place than it was written for, or is of another
// segment or a former life, or of a payload that holds a copy of a log, is no
// record. That heads have a checksum of their own makes a length safe to use
// before the payload is read, and lets each appender compute the checksum of
// its payload before the record has a place.
//
// back is in bytes: when the record was written, all of the segment before its
// offset less back was durable. RecycledFrom is the number that the file had in its
// former life, 0 if it was made of zeros.
//
// Types of records are data (1); end (2), whose payload is the number of the
// next segment; closed (3), written when the log is closed and all before it
// is durable, without a payload; and pad (4), to be skipped. All but data are
// control records: they carry the position of the next data record, and use
// none. Records may follow a closed mark, and do when the log is opened again.
//
// META is two slots of 512 bytes, 4,096 apart:
//
//	0  8  "STELEWMT"        40  8  position before which all is given up
//	8  4  version, 1        48  8  number of the first segment of the log
//	12 4  0                 56  8  position that the log has reached
//	16 16 id of log         64  4  checksum of the bytes before
//	32 8  sequence          68     zeros
//
// Each change is written to one slot, synced, then to the other, synced. The
// valid one with the higher sequence counts. As both hold it before anything
// is done that rests on it, one damaged slot does no harm. It is written by
// Open, TruncateBefore and Close.
//
// # A worked example
//
// Three records at the beginning of a segment whose salt is
// 0x0123456789abcdef: "stele" and an empty record, written at once and synced,
// and then the closed mark.
//
//	1000  48 10 6d 59 fc fe d4 5a  05 00 00 01 00 00 00 00
//	1010  01 00 00 00 00 00 00 00  73 74 65 6c 65
//	101d  1c 49 fe 53 00 00 00 00  00 00 00 01 1d 00 00 00
//	102d  02 00 00 00 00 00 00 00
//	1035  a2 e9 ad 11 00 00 00 00  00 00 00 03 00 00 00 00
//	1045  03 00 00 00 00 00 00 00
//
// The second has back 0x1d, as the first was not yet durable. The mark carries
// the position 3, which the next record will have.
//
// # Why a crash loses nothing
//
// A segment is written whole before it has its name: zeros, or what it held in
// its former life, and its header, synced; then it is renamed, and the folder
// synced; and only then used. So a header that is not valid is damage, and no
// torn write. It also means that a sync of a record has no metadata to write.
// (On file systems that never write in place, btrfs, ZFS and bcachefs, zeros
// written ahead are of no use; there the room is only reserved, and files are
// not used again.)
//
// A segment gets its end record, and is synced, before anything is written to
// the next one. So if a segment has a record, all before it is durable, at
// every level, and what is not valid in there is damage.
//
// That leaves the last segment with records. Let X be the first offset in it
// where no valid record is. Writes that were not synced may be there in part,
// in any order, so what is at X may never have been durable: a torn tail. But
// if there is a head behind X, valid and of this segment's life, whose offset
// less back is beyond X, then whoever wrote it knew that what is at X was
// durable. Then it is damage. To find such a head Open reads what is behind X
// byte by byte.
//
// An acknowledged record is never cut by this rule unless it was damaged:
// it was durable before it was acknowledged, so it is there, and so is all
// before it; X is behind it. The limit of the rule is damage behind which
// nothing is left that speaks for what was there: a flipped bit in the very
// last flush before a crash, or zeros from some place on to the end. That
// cannot be told from a torn tail. But what was there when the log was last
// opened, truncated or closed can: META says which position it had reached.
//
// What is cut is overwritten by zeros, durably, before anything is appended,
// so that it cannot come back behind new records. What Open found at the end
// and nobody had vouched for is written once more and synced: the process
// that wrote it may have been killed before its sync, or seen it fail, and
// after a failed fsync(2) the kernel holds pages that it takes for clean and
// the disk never got.
//
// TruncateBefore writes META, durably, before it touches a segment. So files
// before the first that META names are leftovers, whatever they hold, and one
// that is missing from there on is damage. A file is used again by renaming it
// to the .new name of its next number, writing the new header over the old,
// and then as above.
//
// # Limits
//
// One process has a log open at a time; a second gets [ErrLocked] and is told
// which. That is by flock(2), which on a network file system is worth what its
// server makes of it. Off Linux nobody is kept out, and Windows, which cannot
// sync a folder, has no level Power.
//
// A record has at most [MaxRecord] bytes, and a quarter of a segment. A log
// takes the room of its segments whole, with at least one for later. To begin
// reading within a segment all heads before are read: there is no index.
//
// The log believes the disk that a flush was a flush, and that it writes a
// sector of 512 bytes wholly or not at all.
package wal
