package wal

import (
	"math/bits"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/latency"
)

// Stats are the figures of a log since Open. For those of an interval, subtract
// the Stats at its beginning from those at its end.
type Stats struct {
	Mechanism Mechanism // how appends are made durable; never SyncAuto

	Records      uint64 // records written
	Bytes        uint64 // bytes written, heads of records included
	Flushes      uint64 // writes of one record or more
	Syncs        uint64 // syncs of the last segment
	Waits        uint64 // appends that waited for the queue, or for memory of AppendAsync
	Cancelled    uint64 // appends cancelled before they were written
	Queued       int    // appends waiting now
	LargestBatch uint64 // the most appends that one flush took from the queue
	// FlushSizes counts the flushes by how many records they wrote: FlushSizes[i] those of
	// 2^i to 2^(i+1)-1 records, and the last one all that wrote more.
	FlushSizes [FlushSizes]uint64

	Segments int // segments with records; at least 1, as the next record goes into the last
	Prepared int // segments prepared ahead of use

	// Append times the calls of Append and AppendBatch that succeeded, from call
	// to return: waiting for other syncs and for the scheduler is included. At
	// level Power every call is timed, below, where a call costs about 20
	// readings of the clock, one of 64.
	Append latency.Snapshot
	// AppendAsync times one of 16 records of AppendAsync, from the call to the
	// acknowledgement, whenever Wait is called.
	AppendAsync latency.Snapshot
	// Sync times the syncs that Syncs counts. At level Power each includes the
	// write of its batch, below that it is the sync alone.
	Sync latency.Snapshot
	// Switch times the changes to the next segment, for which appends wait.
	// Create times the creation of segments, mostly in the background, where it
	// is throttled in favour of appends.
	Switch, Create latency.Snapshot
}

// RecordsPerSync returns the average number of records that shared a sync, 0 if
// there was no sync.
func (s Stats) RecordsPerSync() float64 {
	if s.Syncs == 0 {
		return 0
	}
	return float64(s.Records) / float64(s.Syncs)
}

// FlushSizes is how many classes Stats.FlushSizes has.
const FlushSizes = 16

type counters struct {
	flushSizes [FlushSizes]atomic.Uint64

	records, bytes, flushes, waits, cancelled, largestBatch atomic.Uint64

	appends, async  latency.Sampler
	syncs, switches latency.Histogram
}

// init sets the share of operations that are timed.
func (c *counters) init(level durability.Level) {
	if level != durability.Power {
		c.appends.OneOf = 64
	}
	c.async.OneOf = 16
}

// flushed counts a flush of so many records.
func (c *counters) flushed(records uint64) {
	c.records.Add(records)
	c.flushes.Add(1)
	c.flushSizes[min(max(bits.Len64(records)-1, 0), FlushSizes-1)].Add(1)
}

// Stats returns the current figures, in about 20 us. They are read one after
// the other while appends go on, so they need not agree to the last append.
func (l *Log) Stats() Stats {
	s := Stats{
		Records:      l.stats.records.Load(),
		Bytes:        l.stats.bytes.Load(),
		Flushes:      l.stats.flushes.Load(),
		Waits:        l.stats.waits.Load(),
		Cancelled:    l.stats.cancelled.Load(),
		LargestBatch: l.stats.largestBatch.Load(),
		Append:       l.stats.appends.Snapshot(),
		AppendAsync:  l.stats.async.Snapshot(),
		Sync:         l.stats.syncs.Snapshot(),
		Switch:       l.stats.switches.Snapshot(),
	}
	for i := range s.FlushSizes {
		s.FlushSizes[i] = l.stats.flushSizes[i].Load()
	}
	s.Syncs = s.Sync.Count()
	if l.store == nil { // it was never opened
		return s
	}
	s.Mechanism = l.out.mech
	s.Queued = l.queue.Len()
	s.Create = l.store.creates.Snapshot()
	s.Segments, s.Prepared = l.store.counts()
	return s
}
