// Package logstore is an embeddable storage engine for log lines.
//
//	s, err := logstore.Open("logs", logstore.Options{})
//	err = s.Append(ctx, batch)              // returns once the lines survive a power cut
//	for r, err := range s.Query(ctx, q) { } // finds them from then on
//	err = s.Close()
//
// # What survives
//
// An entry that Append has acknowledged survives the crashes that Options.Level
// names: at Power, the default, a power cut; at Kill, the end of the process.
// It is stored exactly once, and equal lines are different entries, until
// Options.Retention, RetainBytes or Delete deletes it. After a crash, a batch that was
// not acknowledged is there whole or not at all; of one of 4 MiB or more, a part
// may be there. Entries of one stream with equal times keep the order in which
// they were appended.
//
// A batch that was not acknowledged may be appended again by AppendWith, which keeps
// each entry once: it names the batch by a key, which the store remembers for some
// minutes, or by the place of its entries in a source, which it remembers until
// ForgetSource.
//
// # How it works
//
// A batch becomes a record of a write-ahead log (package wal), which makes it
// durable. Its entries go into a memtable, by stream, where queries find them.
// When the memtable is full or old enough, it is sealed: written as a segment,
// an immutable file of compressed blocks with filters and an index (package
// atomicfile publishes it), and the log is truncated. Segments are compacted in
// the background, and deleted whole. Of each, some KiB stay in memory, which tell
// what it may have; its streams and their labels are read when a query asks for
// them. A segment that an older version wrote is read as it is, until a
// compaction, or Compact, writes it anew.
//
// Delete deletes entries by selector, time and line. A record of the log says so, which a
// seal writes again for as long as segments have such entries: queries leave them out,
// and compactions drop them; until one does, CancelDeletion takes it back. It takes the place of those before it whose entries are all
// among its own.
//
//	DIR/wal/                  the log; its lock is that of the store
//	DIR/segments/             AFTER-UPTO-GENERATION.seg, by positions of the log; .gone: one
//	                          that was deleted while the disk was full
//	DIR/quarantine/           damaged segments, logs and torn tails, each with a report
//	DIR/imports/              which positions of other logs are imported, by Import
//	DIR/stele-profile.json    the profile that stele tune wrote, if any
//
// A segment records which positions of the log it holds: all after one up to
// another. The log is truncated only once the segment is durable; where nothing but
// deletions came, what still counts of them is written again behind. So after a
// crash, the positions above the highest of any segment are replayed, and each
// entry is there once.
//
// # What is told
//
// Options.Events is called with damage, quarantine, retention, torn tails and low
// space, as they happen. Store.Report has those that Open found. What is cut from
// the log, and each damaged segment, stays in quarantine until a person removes it. Of
// torn tails without a whole record, of which each crash may leave one, at most 64 or
// 256 MiB stay. Where there is no space to keep a torn tail with whole records, Open
// fails and changes nothing; OpenReadOnly opens the store.
//
// The log says which segments there should be, so each Open tells each that was deleted,
// and the whole directory segments. Where the log was lost or damaged so that it does not
// say that, each Open tells the positions that neither a segment nor the log has
// (EventGap). OpenReadOnly, Verify and PlanRepair tell both, too, but for positions
// before the first segment that no log tells of, which retention has most likely deleted.
// What a repair gives up is told by its plan, its report, and the first Open after it.
// Stats counts all of it. Without the log, Open refuses segments. So every
// file that was deleted, truncated or flipped is told, by Open or by the first read
// of its bytes, if entries are lost with it. There are two exceptions. One is the end
// of the log, where the store was not closed and the damage looks like the end of a log
// in a crash: cut off between two records, or zeros from there on. What else of the end
// is cut is told as a torn tail. The other is a directory of which log, segments and
// quarantine are all gone: nothing is left that says that there was a store.
//
// # Damage
//
// A damaged segment does not keep the others from being served: what is intact of
// it is salvaged, and the file goes to quarantine. A damaged or missing log does, as
// nobody knows what was in it: Open refuses the store, and changes nothing. PlanRepair says
// which records are intact, and which positions would be given up, with the deletions
// that were pending there; Repair makes a new log of the intact ones and keeps the old
// one in quarantine.
//
// OpenReadOnly reads a store as it is: damaged, without its log, on a disk that is
// full or mounted for reading only. It writes nothing, and says what it had to pass
// over. OpenSegments reads segments alone.
//
// A segment that is missing comes back by Import, which puts a copy of its file in
// its place. RepairOptions.AcceptMissing gives it up.
//
// # Files of another store, and old copies
//
// Segments name the log that they were sealed from by its ID, and the term, a number of
// the life of the store, of their positions. The log tells both too. So a segment of
// another store, or of a copy of this one that went on apart, takes the place of nothing:
// of no segment, of no record, of none that is missing. Open moves it to quarantine, tells
// that, and Import appends its entries; one whose positions lie below all that this store
// has is served (EventOtherLog). If all segments are of another log, or the log is an old
// one that was put back, a person must say which is right: Open refuses the store, and
// changes nothing. Repair keeps the log and moves to quarantine the segments that are not
// its own; to keep the segments, move the log away first.
//
// # Tenants
//
// A batch of AppendWith may be that of a tenant. Tenants share the log, its syncs and
// the memory of one store, and have nothing else in common: a stream is a tenant's, and
// whatever is asked is asked of one tenant. In a segment the blocks of a tenant lie
// together, so a query of another one reads none of them. Options.Tenants gives each
// its limits, which may change while the store is open.
//
// # Copies
//
// Store.Snapshot makes a store with exactly the entries up to a position, by hard
// links where that can be, while this one goes on. Do not copy the directory of an open
// store by other means: the log and the segments of a copy would be of different times.
//
// # Memory and speed
//
// Options.Memory is divided into shares: three eighths for memtables and the
// streams that they have, a quarter for queries and tails, an eighth for what is
// known of segments, and the rest for sealing, compaction, the keys of batches,
// lists of refused entries and the log. Stats.Memory tells how much of each is
// used. Appends that come faster than sealing are throttled
// before the memory is used up, each by a little, and block once it is. A query
// releases a memtable that is sealed meanwhile and goes on in its segment, so a
// slow query keeps no memtable; but segments that were compacted or deleted keep
// their disk space until the queries that began before have ended.
// The sums of one Aggregate or Count take up to half of what is for queries.
//
// Appenders share syncs, so for the disk many appenders of single lines are as
// good as few of batches; a line costs less CPU in a batch. Lines that arrive
// in the order of their times within a stream are the cheapest. Lines that are
// late by up to Options.LateWindow cost a little more.
//
// # Mistakes to avoid
//
//   - Treating a *RejectedError as a failure of the batch. All entries that it
//     does not name have been kept; appending the whole batch again keeps them
//     twice.
//   - Appending again after ErrUnsure by Append. Some of the batch may be there, and
//     equal lines are kept. AppendWith keeps what is missing.
//   - Ending an iteration at a *CorruptError, or taking its result for complete.
//     The iteration goes on after it.
//   - Taking the result of a query for complete before the channel of Ready is
//     closed. Such a query ends with ErrReplaying.
//   - Taking the result of a query that ended with ErrIncomplete for complete.
//   - Keeping Result.Line beyond the next step of the iteration. Copy it.
//   - A label whose value differs in each line, such as the ID of a request. Each
//     set of labels is a stream, which takes memory until its entries are sealed,
//     and space in the index of each segment. Use metadata.
//   - Calling Close without Seal where the next Open must be fast. Close leaves
//     the memtables to the log, and Open replays it.
//
// # Limits
//
// One process has a store open at a time. A stream that has entries in memory takes
// some 400 bytes and more for labels of its own; where there are so many that they
// fill their share, memtables are sealed earlier. Options.MaxStreams bounds how many
// get entries within an hour. Times range from 0 to
// math.MaxInt64-1 nanoseconds since the Unix epoch. Off Linux free space is not
// monitored, and Windows, which cannot sync a directory, has no level Power.
package logstore

// Where to begin in the code: "How the log store keeps its word" in DESIGN.md has the
// reasons, and the map of these files by concern.
