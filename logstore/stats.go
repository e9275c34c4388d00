package logstore

import (
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/wal"
)

// Stats are figures of a store. Counters begin at 0 with Open. They are read
// one after the other while the store runs, so related figures may differ by a
// few.
type Stats struct {
	// Entries appended, the bytes of their lines and metadata, and entries
	// refused. Replayed entries count as appended.
	Entries, Bytes, Rejected uint64

	// Streams have entries in memory. SealedStreams is the most streams that one
	// segment has; segments have mostly the same ones.
	Streams, SealedStreams int
	// Tenants have entries in memory; "" is one of them.
	Tenants int

	// Keys and Sources of batches that are remembered: see AppendWith. DroppedKeys
	// were forgotten before Options.KeyWindow was over, for want of memory.
	Keys, Sources int
	DroppedKeys   uint64

	// The content of the memtables.
	MemoryEntries int64
	MemoryLines   int64 // bytes of lines and metadata
	MemoryUsed    int64 // bytes of memory, with what their streams take; at most MemoryLimit
	MemoryLimit   int64 // a share of Options.Memory

	// Memory has the shares of Options.Memory, and how much of each is used: about,
	// as for some it is estimated. Their limits add up to Options.Memory, which says
	// what may exceed its share. Free memory of earlier memtables, which the next ones
	// take, is used memory here.
	Memory []MemoryShare

	Sealed  uint64 // memtables written as segments
	Sealing bool   // one is being written

	// Segments, the bytes of their files, and their contents: blocks, entries,
	// and bytes of lines and metadata.
	Segments, SegmentBytes             int64
	Blocks, SealedEntries, SealedLines int64
	// Completed compactions, and the bytes that they wrote.
	Compactions, CompactedBytes int64
	// Segments deleted by Retention or RetainBytes, or as all in them had expired by
	// TenantOptions.Retention.
	Retired int64
	// Deletions that are pending, see Store.Deletions, and the entries that compactions
	// have left out, with the bytes of their lines and metadata: they were deleted, or
	// had expired by TenantOptions.Retention, as ExpiredEntries of them had.
	Deletions                                    int
	DeletedEntries, DeletedBytes, ExpiredEntries int64
	// Segments found damaged since Open, segments that Open missed, the entries lost
	// with them where the number is known, and the segments in quarantine, earlier
	// ones included.
	Damaged, Missing, LostEntries, Quarantined int64
	// Whole records that Open has cut from the torn end of the log, and all bytes of
	// that end: see EventTornTail.
	TornRecords, TornBytes int64
	// Gaps are ranges of positions that Open has told as EventGap. MissingPositions are
	// those of gaps and of missing segments; a record of the log takes one. What a repair
	// has given up from a position on is a gap, but of a number of positions that is not known.
	Gaps, MissingPositions int64
	OpenFiles              int64 // segments that are open
	// CacheHits is the hit ratio of the cache of segment indexes, 0 to 1, of CacheLooks,
	// of which CacheMisses did not find; CacheBytes is its size, with what it lends to
	// reads ahead.
	CacheHits               float64
	CacheLooks, CacheMisses int64
	CacheBytes              int64

	// Appends that wait now, for memory or replay; appends that found no memory
	// at all; and the time that all appends were delayed.
	Waiting int64
	Blocked int64
	Delayed time.Duration

	// The log: the positions of its first record and the next one, and the
	// bytes of its files.
	LogFirst, LogNext uint64
	LogBytes          int64
	// LogQueued appends wait for the log now. LogGroups counts the writes of the log, which
	// at Power are syncs too, by how many records shared them: LogGroups[i] those of 2^i to
	// 2^(i+1)-1 records, and the last one all of more. A batch is a record, or several if
	// it has 4 MiB or more.
	LogQueued int
	LogGroups [LogGroups]uint64

	// Latencies. Append has the calls that kept entries, with the time that
	// they waited for memory and for the sync: every call at Power, one of 16
	// below. Sync has the syncs of the log, at Power with the write before
	// each.
	Append, Sync latency.Snapshot
	// Seal has the time in which memtables became segments, Compaction that of
	// compactions, which Options.BackgroundRate throttles.
	Seal, Compaction latency.Snapshot
	// Query has the calls of Query that ended without an error or were stopped
	// by their consumer: from the first step of the iteration to the last, the
	// time of the consumer included. QueryFirst ends with the first step, or
	// the end of an empty iteration. It includes queries that failed after a
	// step.
	Query, QueryFirst latency.Snapshot

	// Replay after Open: positions replayed, and positions to go.
	Replayed, ToReplay uint64

	// ClockAhead is by how much Options.Clock is ahead of the time by which entries
	// are deleted, see Options.Retention; 0 if it is trusted.
	ClockAhead time.Duration

	// Free bytes of the file system when last read, and the bytes that must
	// stay free; LowSpace means that appends are refused.
	Free, MinFree int64
	LowSpace      bool

	// Failed is why nothing is appended until the store is opened again, or
	// nil. BackgroundError joins the last errors of background work, which is
	// retried; it is nil when all succeeded the last time.
	Failed, BackgroundError error
}

// LogGroups is how many classes Stats.LogGroups has.
const LogGroups = wal.FlushSizes

// counts are the counters of a Store.
type counts struct {
	appends                  latency.Sampler
	seals                    latency.Histogram
	queries, firsts          latency.Histogram
	entries, bytes, rejected atomic.Uint64
	replayWaiters            atomic.Int64 // for the end of replay
}

// Stats returns the current figures.
func (s *Store) Stats() Stats {
	if s.log == nil {
		return Stats{Failed: errUnopened}
	}
	st := Stats{
		Entries: s.counts.entries.Load(), Bytes: s.counts.bytes.Load(), Rejected: s.counts.rejected.Load(),
		Streams:     s.labels.Len(),
		Tenants:     s.tenants.len(),
		MemoryUsed:  s.throttle.used.Load(),
		MemoryLimit: s.throttle.limit,
		Sealed:      s.seals.count.Load(), Sealing: s.seals.active.Load(),
		Waiting: s.throttle.waiting.Load() + s.counts.replayWaiters.Load(),
		Blocked: s.throttle.blockedTotal.Load(),
		Delayed: time.Duration(s.throttle.delayed.Load()),
		Free:    s.space.free.Load(), MinFree: s.space.required.Load(), LowSpace: s.space.low.Load(),
		BackgroundError: s.bgErrors.get(),
	}
	st.Keys, st.DroppedKeys, st.Sources = s.idempotency.stats()
	s.mu.Lock()
	for _, m := range s.mems {
		st.MemoryEntries += m.count.Load()
		st.MemoryLines += m.raw.Load()
	}
	s.mu.Unlock()
	first, next := s.log.Bounds()
	st.LogFirst, st.LogNext = first, next
	ls := s.log.Stats()
	st.Append, st.Sync, st.Seal = s.counts.appends.Snapshot(), ls.Sync, s.counts.seals.Snapshot()
	st.Query, st.QueryFirst = s.counts.queries.Snapshot(), s.counts.firsts.Snapshot()
	st.LogBytes, st.LogQueued, st.LogGroups = ls.Bytes, ls.Queued, ls.Groups
	st.Replayed = s.replay.last - s.replay.first
	if at := s.replay.next.Load(); at != 0 {
		st.ToReplay = s.replay.last - at
		st.Replayed -= st.ToReplay
	}
	if err := s.failed.Load(); err != nil {
		st.Failed = *err
	}
	s.catalogStats(&st)
	st.Memory = s.memory()
	return st
}

func (s *Store) catalogStats(st *Stats) {
	f := s.catalog.Stats()
	st.Segments, st.SegmentBytes = f.Segments, f.Bytes
	st.Blocks, st.SealedEntries, st.SealedLines = f.Blocks, f.Rows, f.Raw
	st.Compactions, st.CompactedBytes, st.Compaction = f.Compactions, f.CompactedBytes, f.Compaction
	st.SealedStreams = int(f.MostStreams)
	st.Retired = f.Retired
	st.Deletions, st.DeletedEntries, st.DeletedBytes = len(s.deletions.all()), f.RemovedRows, f.RemovedRaw
	st.ExpiredEntries = f.ExpiredRows
	_, st.ClockAhead = s.catalog.Time()
	st.Damaged, st.LostEntries, st.Quarantined = f.Damaged, f.LostRows+s.roster.rows.Load(), f.Quarantined
	st.Missing = s.roster.segments.Load()
	st.Gaps, st.MissingPositions = s.roster.gaps.Load(), s.roster.positions.Load()
	st.TornRecords, st.TornBytes = s.torn.records, s.torn.bytes
	st.OpenFiles = f.Open
	if looks := f.CacheHits + f.CacheMisses; looks > 0 {
		st.CacheHits = float64(f.CacheHits) / float64(looks)
	}
	st.CacheLooks, st.CacheMisses = int64(f.CacheHits+f.CacheMisses), int64(f.CacheMisses)
	st.CacheBytes = f.CacheBytes
}
