package catalog

import (
	"sync/atomic"

	"github.com/stele-go/stele/latency"
)

// Stats are the current figures. Counters begin with Open.
type Stats struct {
	Segments, Blocks int64
	Bytes            int64 // of the files
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Streams          int64 // each counted in each segment
	MostStreams      int64 // of one segment
	CardBytes        int64 // of memory for what is known of each segment
	TableBytes       int64 // of memory for the tables of segments of version 1
	CompactionMemory int64 // bytes of memory of the compaction under way
	Upto             uint64

	Published         int64 // segments written from memtables
	Compactions       int64 // made
	CompactedSegments int64 // segments that were their sources
	// CompactedBytes is what compactions wrote: one to five times what was
	// published, the more the smaller the published segments (see policy.go).
	CompactedBytes, PublishedBytes int64
	FailedCompactions              int64
	Compaction                     latency.Snapshot // of completed compactions
	RemovedRows, RemovedRaw        int64            // entries that compactions left out, and their bytes
	ExpiredRows                    int64            // of RemovedRows: those that had expired by the limits of their tenants
	Retired, RetiredBytes          int64            // deleted by age or size
	Deleted                        int64            // files removed, sources of compactions included
	Obsolete                       int64            // files not yet removed, for a snapshot or until the next Maintain
	Leftovers                      int64            // of a crash, removed at Open

	Damaged     int64 // segments found damaged
	Unreadable  int64 // segments that are not served until they are salvaged
	Salvaged    int64 // segments whose intact blocks are served again
	LostRows    int64 // entries of damaged blocks, where their number is known
	FalseAlarms int64 // segments that were intact when read again
	Quarantined int64 // segments in quarantine, earlier ones included, when last counted
	ReadErrors  int64 // errors of the disk, not damage
	SyncErrors  int64 // failed syncs of the directories

	Open  int64 // open segments, each with one or two file descriptors
	Opens int64 // how often a segment was opened
	// Lookups in the cache of parts of indexes, and its size in bytes.
	CacheHits, CacheMisses, CacheBytes int64
}

type counters struct {
	published, publishedBytes                      atomic.Int64
	compactions, compactedSegments, compactedBytes atomic.Int64
	failedCompactions                              atomic.Int64
	compaction                                     latency.Histogram
	retired, retiredBytes                          atomic.Int64
	removedRows, removedRaw, expiredRows           atomic.Int64
	deleted, obsolete, leftovers                   atomic.Int64
	damaged, unreadable, salvaged                  atomic.Int64
	lostRows, falseAlarms, readErrors, syncErrors  atomic.Int64
	quarantined                                    atomic.Int64
	compacting                                     atomic.Int64 // bytes of memory
}

// removed counts what a compaction has left out, of raw bytes.
func (n *counters) removed(gone removals, raw int64) {
	n.removedRows.Add(gone.rows)
	n.removedRaw.Add(raw)
	n.expiredRows.Add(gone.expired)
}

// Stats returns the current figures. It takes no lock that Publish holds.
func (c *Catalog) Stats() Stats {
	f := &c.counters
	st := Stats{
		Upto:      c.Upto(),
		Published: f.published.Load(), PublishedBytes: f.publishedBytes.Load(),
		Compactions: f.compactions.Load(), CompactedSegments: f.compactedSegments.Load(), CompactedBytes: f.compactedBytes.Load(), FailedCompactions: f.failedCompactions.Load(),
		RemovedRows: f.removedRows.Load(), RemovedRaw: f.removedRaw.Load(), ExpiredRows: f.expiredRows.Load(),
		Retired: f.retired.Load(), RetiredBytes: f.retiredBytes.Load(),
		Deleted: f.deleted.Load(), Obsolete: f.obsolete.Load(), Leftovers: f.leftovers.Load(),
		Damaged: f.damaged.Load(), Unreadable: f.unreadable.Load(), Salvaged: f.salvaged.Load(),
		LostRows: f.lostRows.Load(), FalseAlarms: f.falseAlarms.Load(), ReadErrors: f.readErrors.Load(), SyncErrors: f.syncErrors.Load(),
		Quarantined: f.quarantined.Load(), Compaction: f.compaction.Snapshot(),
		Open: c.files.opened.Load(), Opens: c.files.opens.Load(),
	}
	st.CompactionMemory, st.TableBytes = f.compacting.Load(), c.files.tableBytes()
	n := c.Snapshot()
	if n == nil {
		return st
	}
	defer n.Release()
	t := &n.v.totals
	st.Segments, st.Blocks, st.Bytes, st.Rows, st.Raw = int64(len(n.v.order)), t.blocks, t.bytes, t.rows, t.raw
	st.Streams, st.MostStreams, st.CardBytes = t.streams, int64(t.mostStreams), c.files.cards.bytes.Load()
	st.CacheHits, st.CacheMisses, st.CacheBytes = c.parts.hits.Load(), c.parts.misses.Load(), c.parts.bytes()
	return st
}
