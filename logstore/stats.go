package logstore

import (
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/latency"
)

// Stats are figures of a store. Those that count begin at 0 with Open. They are
// read one after the other while the store goes on, so they may not fit
// together to the last one.
type Stats struct {
	// What was appended: entries, bytes of lines and metadata, and entries that
	// were refused. Replayed entries count as appended.
	Entries, Bytes, Rejected uint64

	Streams int // that have entries

	// What is in memory and not yet in a segment.
	MemoryEntries int64
	MemoryLines   int64 // bytes of lines and metadata
	MemoryUsed    int64 // bytes of memory taken for them, bounded by MemoryLimit
	MemoryLimit   int64 // a share of Options.Memory

	Sealed  uint64 // memtables that became segments
	Sealing bool   // one does just now

	// Segments, the bytes of their files, and what is in them: blocks, entries,
	// and bytes of lines and metadata.
	Segments, SegmentBytes             int64
	Blocks, SealedEntries, SealedLines int64
	// Compactions that were made, and the bytes that they have written.
	Compactions, CompactedBytes int64
	// Segments that were deleted by Retention or RetainBytes.
	Retired int64
	// Segments that were found damaged since Open, entries of them that were
	// lost, where it is known how many, and segments that are in quarantine, those
	// of earlier times too.
	Damaged, LostEntries, Quarantined int64
	OpenFiles                         int64 // segments that are open
	// CacheHits is the share of looks into the cache of what is known of
	// segments that found it there, 0 to 1; CacheBytes is its size.
	CacheHits  float64
	CacheBytes int64

	// Appends that wait now, for room in memory or for replay, those that found
	// no room at all, and the time that all have been delayed.
	Waiting int64
	Blocked int64
	Delayed time.Duration

	// The log: the positions of its first record and the next one, and the bytes
	// that its files take.
	LogFirst, LogNext uint64
	LogBytes          int64

	// Latencies. Append has the calls that kept their batch, or what of it was
	// not refused, with the time that they waited for memory and for the sync:
	// all of them at Power, one of 16 below. Sync has the syncs of the log, at
	// Power with the write before each.
	Append, Sync latency.Snapshot
	// Seal is how long memtables took to become segments, Merge how long merges
	// took, which are slowed down by Options.BackgroundRate.
	Seal, Compaction latency.Snapshot
	// Query has the calls of Query that ended without an error, or were ended by
	// their consumer: from the first step of the iteration to the last, with the
	// time that the consumer took. QueryFirst ends with the first step, or where
	// there is none with the iteration. It has those too that failed after a step.
	Query, QueryFirst latency.Snapshot

	// Replay after Open: positions that there were, and that are yet to come.
	Replayed, ToReplay uint64

	// Bytes that the file system has free, as it was last looked, and those
	// that must stay free; LowSpace refuses appends.
	Free, MinFree int64
	LowSpace      bool

	// Failed is why nothing is appended until the store is opened anew, nil if
	// it is. Trouble is what background work has failed to do, and tries again;
	// it is nil when all went well the last time.
	Failed, BackgroundError error
}

// counts are what Store counts.
type counts struct {
	appends                  latency.Sampler
	seals                    latency.Histogram
	queries, firsts          latency.Histogram
	entries, bytes, rejected atomic.Uint64
	replayWaiters            atomic.Int64 // for the end of replay
}

// Stats returns the figures of now.
func (s *Store) Stats() Stats {
	if s.log == nil {
		return Stats{Failed: errUnopened}
	}
	st := Stats{
		Entries: s.counts.entries.Load(), Bytes: s.counts.bytes.Load(), Rejected: s.counts.rejected.Load(),
		Streams:     s.labels.Len(),
		MemoryUsed:  s.throttle.used.Load(),
		MemoryLimit: s.throttle.limit,
		Sealed:      s.seals.count.Load(), Sealing: s.seals.active.Load(),
		Waiting: s.throttle.waiting.Load() + s.counts.replayWaiters.Load(),
		Blocked: s.throttle.blockedTotal.Load(),
		Delayed: time.Duration(s.throttle.delayed.Load()),
		Free:    s.space.free.Load(), MinFree: s.space.required.Load(), LowSpace: s.space.low.Load(),
		BackgroundError: s.bgErrors.get(),
	}
	s.mu.Lock()
	for _, m := range s.mems {
		st.MemoryEntries += m.count.Load()
		st.MemoryLines += m.raw.Load()
	}
	s.mu.Unlock()
	first, next := s.log.Bounds()
	st.LogFirst, st.LogNext = uint64(first), uint64(next)
	ls := s.log.Stats()
	st.Append, st.Sync, st.Seal = s.counts.appends.Snapshot(), ls.Sync, s.counts.seals.Snapshot()
	st.Query, st.QueryFirst = s.counts.queries.Snapshot(), s.counts.firsts.Snapshot()
	st.LogBytes = int64(ls.Segments+ls.Prepared) * s.o.logSegment()
	st.Replayed = s.replay.last - s.replay.first
	if at := s.replay.next.Load(); at != 0 {
		st.ToReplay = s.replay.last - at
		st.Replayed -= st.ToReplay
	}
	if err := s.failed.Load(); err != nil {
		st.Failed = *err
	}
	s.catalogStats(&st)
	return st
}

func (s *Store) catalogStats(st *Stats) {
	f := s.catalog.Stats()
	st.Segments, st.SegmentBytes = f.Segments, f.Bytes
	st.Blocks, st.SealedEntries, st.SealedLines = f.Blocks, f.Rows, f.Raw
	st.Compactions, st.CompactedBytes, st.Compaction = f.Compactions, f.CompactedBytes, f.Compaction
	st.Retired = f.Retired
	st.Damaged, st.LostEntries, st.Quarantined = f.Damaged, f.LostRows, f.Quarantined
	st.OpenFiles = f.Open
	if looks := f.CacheHits + f.CacheMisses; looks > 0 {
		st.CacheHits = float64(f.CacheHits) / float64(looks)
	}
	st.CacheBytes = f.CacheBytes
}
