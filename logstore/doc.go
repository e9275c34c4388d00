// Package logstore keeps log lines so that none is lost and each is found. It is
// an engine for a Go program to embed.
//
//	s, err := logstore.Open("logs", logstore.Options{})
//	err = s.Append(ctx, batch)              // returns when the lines survive a power cut
//	for f, err := range s.Query(ctx, q) { } // finds them, from then on
//	err = s.Close()
//
// # What survives
//
// An entry that Append has acknowledged survives what Options.Level says: at
// Power, the default, a power cut, at Kill the end of the process. It is there
// once, equal lines being different entries, until Options.Retention or
// RetainBytes lets it go. A batch that was not acknowledged is there whole or
// not at all, unless it is of 4 MiB or more: then a part may be. Entries of one
// stream with equal times stay in the order in which they were appended.
//
// # How it works
//
// A batch becomes a record of a log (package wal), which makes it durable, and
// its entries are put into memory, by stream, where queries find them. When
// there is enough in memory, or after a while, it is sealed: written as a
// segment, an immutable file of compressed blocks with filters and an index
// (package atomicfile publishes it), and the log gives up what is in it. Segments
// are merged in the background, and deleted whole.
//
//	DIR/wal/                  the log; its lock is that of the store
//	DIR/segments/             AFTER-UPTO-GENERATION.seg, by positions of the log
//	DIR/quarantine/           damaged segments, each with a report
//	DIR/stele-profile.json    what stele tune has found out, if it was asked to
//
// A segment says which positions of the log it has, all after one up to another,
// and the log gives up nothing before the segment is durable. So after a crash,
// what comes after the highest position of a segment is replayed, and each entry
// is there once.
//
// # Memory and speed
//
// Options.Memory is divided: three eighths for what is not yet sealed, a quarter
// for queries, an eighth for what is known of segments; the rest is for the
// buffers of the log and of sealing. Appends that come faster than sealing are
// slowed down before the memory is used up, each by a little, and wait where it
// is. A query lets go of memory that is sealed meanwhile, and goes on in the
// segment, so a slow one costs no more; but segments that were merged or deleted
// keep their room on the disk until the queries that began before have ended.
//
// Appenders share syncs, so many of them with single lines are as good as few
// with batches, as far as the disk is concerned; a line costs less in a batch.
// That all lines of a stream come in the order of their times is best. Those that
// are late by up to Options.LateWindow cost a little more.
//
// # Mistakes to avoid
//
//   - A *RejectedError is no failure of the batch: what it does not name has been
//     kept. To append the whole batch again keeps the others twice.
//   - After ErrUnsure some of the batch may be there, and equal lines are kept.
//     Query before you append again.
//   - A query may yield a *CorruptError and go on. Do not end at it, and do not
//     take the result for complete.
//   - A query before the channel of Ready is closed ends with ErrReplaying, and
//     does not have all that was acknowledged.
//   - Found.Line is valid until the next step of the iteration. Copy what you keep.
//   - What differs in each line, such as a request's id, is metadata and not a
//     label: each set of labels is a stream, which takes memory as long as it has
//     entries.
//   - Close leaves what is in memory to the log. Call Seal before it if the next
//     Open must be fast.
//
// # Limits
//
// One process has a store open at a time. Streams that have entries are known in
// memory, at some hundred bytes each, besides the budget. A time is from 0 to 1
// ns before the end of int64. Off Linux the free space is not watched, and
// Windows, which cannot sync a folder, has no level Power.
package logstore
