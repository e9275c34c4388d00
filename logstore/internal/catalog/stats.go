package catalog

import (
	"sync/atomic"

	"github.com/stele-go/stele/latency"
)

// Stats are figures of now. Those of what was done count from Open on.
type Stats struct {
	Segments, Blocks int64
	Bytes            int64 // of the files
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Streams          int64 // items of the index: streams, counted in each segment
	Upto             uint64

	Published         int64 // segments of what was in memory
	Compactions       int64 // made
	CompactedSegments int64 // segments that went into them
	// CompactedBytes is what merges have written: one to five times what was
	// published, the more the smaller that was (see policy.go).
	CompactedBytes, PublishedBytes int64
	FailedCompactions              int64
	Compaction                     latency.Snapshot // of those that were made
	Retired, RetiredBytes          int64            // deleted by age or size
	Deleted                        int64            // files removed from the folder, sources of merges among them
	Obsolete                       int64            // files that are still there for a snapshot, or until Maintain comes by
	Leftovers                      int64            // of a crash, removed at Open

	Damaged     int64 // segments that were found so
	Unreadable  int64 // of which nothing is served until they are salvaged
	Salvaged    int64 // of which what was intact is served again
	LostRows    int64 // entries that were in damaged blocks, where it is known how many
	FalseAlarms int64 // found damaged, and intact when it was read again
	Quarantined int64 // segments in quarantine, those of earlier times too
	ReadErrors  int64 // of the disk, not of what is on it

	Open  int64 // segments that are open, each with one or two descriptors
	Opens int64 // how often one was opened
	// Lookups in the cache of run lists, and its size in bytes.
	CacheHits, CacheMisses, CacheBytes int64
}

type counters struct {
	published, publishedBytes                      atomic.Int64
	compactions, compactedSegments, compactedBytes atomic.Int64
	failedCompactions                              atomic.Int64
	compaction                                     latency.Histogram
	retired, retiredBytes                          atomic.Int64
	deleted, obsolete, leftovers                   atomic.Int64
	damaged, unreadable, salvaged                  atomic.Int64
	lostRows, falseAlarms, readErrors              atomic.Int64
	quarantined                                    atomic.Int64
}

// Stats returns the figures of now. It takes no lock that Publish holds.
func (c *Catalog) Stats() Stats {
	f := &c.counters
	st := Stats{
		Upto:      c.Upto(),
		Published: f.published.Load(), PublishedBytes: f.publishedBytes.Load(),
		Compactions: f.compactions.Load(), CompactedSegments: f.compactedSegments.Load(), CompactedBytes: f.compactedBytes.Load(), FailedCompactions: f.failedCompactions.Load(),
		Retired: f.retired.Load(), RetiredBytes: f.retiredBytes.Load(),
		Deleted: f.deleted.Load(), Obsolete: f.obsolete.Load(), Leftovers: f.leftovers.Load(),
		Damaged: f.damaged.Load(), Unreadable: f.unreadable.Load(), Salvaged: f.salvaged.Load(),
		LostRows: f.lostRows.Load(), FalseAlarms: f.falseAlarms.Load(), ReadErrors: f.readErrors.Load(),
		Quarantined: f.quarantined.Load(), Compaction: f.compaction.Snapshot(),
		Open: c.files.open.Load(), Opens: c.files.opens.Load(),
	}
	n := c.Snapshot()
	if n == nil {
		return st
	}
	defer n.Release()
	st.Segments, st.Blocks, st.Bytes, st.Rows, st.Raw = int64(len(n.v.order)), n.v.blocks, n.v.bytes, n.v.rows, n.v.raw
	st.Streams = int64(n.v.index.Len())
	st.CacheHits, st.CacheMisses, st.CacheBytes = c.runs.hits.Load(), c.runs.misses.Load(), c.runs.bytes()
	return st
}
