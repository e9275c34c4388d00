// Package wal is a write-ahead log: it appends records, numbers them in order,
// and reads them back in that order after any crash.
//
// # Use
//
//	l, err := wal.Open("log", wal.Options{}) // locks, verifies, cuts a torn tail
//	pos, err := l.Append(ctx, rec)           // returns when rec survives a power cut
//	p := l.AppendAsync(rec)                  // does not wait; p.Wait does
//	for rec, err := range l.All(0) { }       // reads, from the first record on
//	err = l.TruncateBefore(pos)              // discards the records before pos
//	err = l.Close()
//
// Concurrent appends share a sync (group commit): a flush writes all records
// that came during the flush before it. So further appenders cost little, and
// there is nothing to tune. A lone append writes and syncs in its own goroutine.
// Appending does not allocate. A [Reader] follows the log as it grows. [Inspect]
// and [Verify] read a log that may be open in another process, as the command
// stele inspect does. [Inspection.Salvage] reads what is intact of a damaged log, and
// [SalvageTail] what is whole of a torn tail that Open has cut.
//
// # What survives
//
// A record that Append has acknowledged survives what [Options.Level] says: at
// Power, the default, a power cut; at Kill the end of the process. A record that
// was not acknowledged is there whole or not at all, and never without the
// records before it (durability.Prefix). No record is ever made up, neither from
// zeros nor from flipped bits, from the earlier content of a recycled file, or
// from the payload of another record.
//
// Open tells a torn tail, which a crash leaves, from damage. It cuts a torn tail
// and reports it ([Report]); [Options.SaveTorn] may keep a copy. It does not
// change a damaged log, and returns a [*CorruptError] with file and offset.
// Damage to a segment that was prepared and never used does no harm: Open sets
// it aside ([Options.SetAside]). Checksums are verified on every read.
//
// # Mistakes to avoid
//
//   - Taking a cancelled append for undone. After [ErrUnsure] the record may be
//     there: read the log before you append it again.
//   - Taking AppendBatch for a transaction. After a crash its first records may
//     be there without the others. Put what belongs together into one record.
//   - Going on after [ErrPoisoned], or calling Sync again. Close the log, open it
//     again, and read what is there.
//   - Keeping Record.Data. It is valid until the next call of the Reader: copy it.
//   - Calling Wait of a Pending never, which hides its error, or twice.
//   - Never calling TruncateBefore. Only it frees disk space.
//   - Relying on [durability.Kill] after a power cut, which loses the end of the
//     log, or on [durability.None] after the end of the process. SyncEvery bounds
//     the loss.
//
// # On-disk layout
//
// A log is a directory:
//
//	LOCK                  held by flock(2) while the log is open; contains the process id
//	META                  which segments belong to the log
//	0000000000000001.wal  segments, numbered from 1 without gaps
//	0000000000000002.wal  the last ones may be prepared: without records
//	0000000000000003.new  a segment that is being created; Open removes it
//
// Other names are ignored. All integers are little endian, all checksums CRC-32C.
// A segment is a block with a header, then records:
//
//	offset  bytes            offset  bytes of a record
//	0       8  "STELEWAL"    0       4  checksum of the head
//	8       4  version, 1    4       4  checksum of the payload
//	12      4  0             8       3  length of the payload
//	16     16  id of log     11      1  type
//	32      8  number        12      4  back
//	40      8  size          16      8  position
//	48      8  salt          24         payload
//	56      8  recycled from
//	64      4  checksum of the bytes before
//	4096       records
//
// The checksum of a head covers the segment's salt (8 bytes), the record's offset
// in the file (8 bytes), and bytes 4 to 24 of the head, the checksum of the
// payload among them. The salt is random, and new whenever a file is created or
// recycled. So bytes at another offset, of another segment, from before a file
// was recycled, or within a payload that is a copy of a log, do not parse as
// records. As the head has a checksum of its own, the length can be used before
// the payload is read, and each appender can compute the checksum of its payload
// before the record has an offset.
//
// back is in bytes: when the record was written, the segment was durable up to
// the record's offset less back. "recycled from" is the number that the file had
// before, 0 if it was created full of zeros.
//
// Types of records are data (1); end (2), whose payload is the number of the next
// segment; closed (3), without a payload, written by Close when all before it is
// durable; and pad (4), to be skipped. All but data are control records: they
// carry the position of the next data record, and have none of their own. Records
// may follow a closed mark, and do once the log is opened again.
//
// META is two slots of 512 bytes, 4,096 apart:
//
//	0  8  "STELEWMT"        40  8  position before which records are discarded
//	8  4  version, 1        48  8  number of the first segment of the log
//	12 4  0                 56  8  position that the log has durably reached
//	16 16 id of log         64  4  checksum of the bytes before
//	32 8  sequence          68     zeros
//
// A change is written to one slot, synced, then to the other, synced. The valid
// slot with the higher sequence counts. Nothing relies on a change before both
// slots have it, so one damaged slot does no harm. Open, TruncateBefore and Close
// write META.
//
// A log is created by creating META, complete and synced before it has its name,
// and then the directory synced: so there is all of it or no log. The sequence is
// then 1, and there may be no segment yet. Open makes the first one, and has
// written META before it takes a record: from a sequence of 2 on, a log without
// its first segment is damaged.
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
// A segment is complete before it has its name: zeros, or the content of the
// recycled file, and its header are written and synced; then it is renamed, and
// the directory synced; only then it is used. So a header that is not valid is
// damage, never a torn write, and a sync of a record has no metadata to write.
// (On file systems that never write in place, btrfs, ZFS and bcachefs, writing
// zeros ahead gains nothing; there the space is only reserved, and files are not
// recycled.)
//
// A segment gets its end record, and is synced, before the next one is written
// to. So if a segment has a record, all before it is durable, at every level, and
// an invalid record there is damage.
//
// That leaves the last segment with records. Let X be the offset of its first
// invalid record. Writes that were not synced may be there in part, in any order,
// so the bytes at X may never have been durable: a torn tail. But suppose that
// after X there is a valid head of this segment whose offset less back is beyond
// X. When it was written, the bytes at X were durable. So they are damage. Open
// searches for such a head at every byte after X.
//
// This rule never cuts an acknowledged record that is undamaged: it was durable
// before it was acknowledged, so it is there with all before it, and X is after
// it. The limit of the rule is damage with no evidence after it: a flipped bit in
// the very last flush before a crash, or zeros from some offset to the end. That
// looks like a torn tail. But META has the position that the log had reached when
// it was last opened, truncated or closed, and a log that ends before it is
// damaged.
//
// What is cut is given to Options.SaveTorn, before anything is changed. Then it
// is overwritten with zeros, durably, before anything is appended, so that it
// cannot reappear after new records. A crash before the zeros are durable leaves
// the torn tail, or less of it, and the next Open saves it again. The records at the end that no later
// record proves durable are written once more and synced: the process that wrote
// them may have been killed before its sync, or the sync may have failed, and
// after a failed fsync(2) the kernel holds pages as clean that the disk never got.
//
// The files behind that segment are prepared: as it has no end record, none of
// them has a record, at any level. So no record is lost with them, whatever
// became of them: a header that is not valid, other bytes where zeros were
// written, another size, a missing file. Open sets aside what is damaged,
// removes what follows a damaged or a missing one, and prepares new ones. A crash
// may leave any part of that done. The next Open comes to the same judgement, as
// it looks at each file by itself, and at no order of them.
//
// The limit of this rule is damage to two files: if the end record of a segment
// is damaged, its end looks like a torn tail, and the next one, in use, like a
// prepared one. So Open searches each of these files at every byte for a head
// that is valid with the salt of its header. If the header is damaged, the salt
// is not known; then Open searches for a record whose payload has the right
// checksum and whose position the log has not reached. (The older records in a
// recycled file were discarded, so their positions are lower.) One find makes
// the log damaged. So acknowledged records are lost unseen only if the end of
// one segment and every record in the next are destroyed, and META was last
// written before they were appended.
//
// TruncateBefore writes META, durably, before it changes a segment. So files
// before the first that META names are leftovers, whatever their content, and a
// missing one from there on is damage. A file is recycled by renaming it to the
// .new name of its next number, writing the new header over the old, and then as
// above.
//
// # Limits
//
// One process at a time has a log open. A second one gets [ErrLocked], which
// names the first. The lock is flock(2), whose worth on a network file system
// depends on the server. Off Linux there is no lock, and Windows, which cannot
// sync a directory, has no level Power.
//
// A record has at most [MaxRecord] bytes, and a quarter of a segment. A log takes
// the full size of its segments on the disk, at least one prepared one included.
// There is no index: to start within a segment a Reader reads all heads before.
//
// The log relies on the disk for two things: a flush is a flush, and a sector of
// 512 bytes is written whole or not at all.
package wal
