package catalog

import (
	"sync/atomic"

	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore/metacache"
)

// Stats are figures of now. Those of what was done count from Open on.
type Stats struct {
	Segments, Blocks int64
	Bytes            int64 // of the files
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Streams          int64 // items of the index: streams, counted in each segment
	Upto             uint64

	Published int64 // segments of what was in memory
	Merges    int64 // made
	Merged    int64 // segments that went into them
	// MergedBytes is what merges have written: one to five times what was
	// published, the more the smaller that was (see policy.go).
	MergedBytes, PublishedBytes int64
	FailedMerges                int64
	Merge                       latency.Snapshot // of those that were made
	Retired, RetiredBytes       int64            // deleted by age or size
	Deleted                     int64            // files removed from the folder, sources of merges among them
	Unreaped                    int64            // files that are still there for a snapshot, or until Maintain comes by
	Leftovers                   int64            // of a crash, removed at Open

	Damaged     int64 // segments that were found so
	Broken      int64 // of which nothing is served until they are salvaged
	Salvaged    int64 // of which what was intact is served again
	LostRows    int64 // entries that were in damaged blocks, where it is known how many
	FalseAlarms int64 // found damaged, and intact when it was read again
	Quarantined int64 // segments in quarantine, those of earlier times too
	ReadErrors  int64 // of the disk, not of what is on it

	Open  int64 // segments that are open, each with one or two descriptors
	Opens int64 // how often one was opened
	Cache metacache.Stats
}

type figures struct {
	published, publishedBytes         atomic.Int64
	merges, merged, mergedBytes       atomic.Int64
	failedMerges                      atomic.Int64
	merging                           latency.Histogram
	retired, retiredBytes             atomic.Int64
	deleted, unreaped, leftovers      atomic.Int64
	damaged, broken, salvaged         atomic.Int64
	lostRows, falseAlarms, readErrors atomic.Int64
	quarantined                       atomic.Int64
}

// Stats returns the figures of now. It takes no lock that Publish holds.
func (s *Shelf) Stats() Stats {
	f := &s.figures
	st := Stats{
		Upto:      s.Upto(),
		Published: f.published.Load(), PublishedBytes: f.publishedBytes.Load(),
		Merges: f.merges.Load(), Merged: f.merged.Load(), MergedBytes: f.mergedBytes.Load(), FailedMerges: f.failedMerges.Load(),
		Retired: f.retired.Load(), RetiredBytes: f.retiredBytes.Load(),
		Deleted: f.deleted.Load(), Unreaped: f.unreaped.Load(), Leftovers: f.leftovers.Load(),
		Damaged: f.damaged.Load(), Broken: f.broken.Load(), Salvaged: f.salvaged.Load(),
		LostRows: f.lostRows.Load(), FalseAlarms: f.falseAlarms.Load(), ReadErrors: f.readErrors.Load(),
		Quarantined: f.quarantined.Load(), Merge: f.merging.Snapshot(),
		Open: s.table.open.Load(), Opens: s.table.opens.Load(),
	}
	n := s.Snapshot()
	if n == nil {
		return st
	}
	defer n.Release()
	st.Segments, st.Blocks, st.Bytes, st.Rows, st.Raw = int64(len(n.v.order)), n.v.blocks, n.v.bytes, n.v.rows, n.v.raw
	st.Streams = int64(n.v.index.Len())
	st.Cache = s.cache.Stats()
	return st
}
