package wal

import (
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/latency"
)

// Stats are figures of a log since it was opened. For those of an interval,
// subtract the snapshots of its beginning from those of its end.
type Stats struct {
	Mechanism Mechanism // how appends are made durable; never SyncAuto

	Records  uint64 // written
	Bytes    uint64 // written, with their heads
	Flushes  uint64 // writes of one record or many
	Syncs    uint64 // but for those of other segments than the last
	Waits    uint64 // appends that found the queue full, or AppendAsync its memory
	Dropped  uint64 // cancelled before they were written
	InQueue  int    // appends that wait now
	MostTook uint64 // appends that one flush took from the queue, at most

	Segments int // files that have records, or will have the next
	Prepared int // files made ready for later

	// Append has the calls of Append and AppendBatch that succeeded: from the
	// call to its return, so with the wait for others' syncs and for the
	// scheduler. At Power it has all of them. Below, where a call takes about as
	// long as 20 readings of the clock, it has one of 64.
	Append latency.Snapshot
	// AppendAsync has one of 16 records of AppendAsync: from the call until it
	// was acknowledged, whenever Wait was called.
	AppendAsync latency.Snapshot
	// Sync has the syncs that Syncs counts. At Power each is a write of a group
	// of records with its sync, below it is the sync alone.
	Sync latency.Snapshot
	// Switch is how long appends had to wait for the next segment, Create how
	// long it took to make one: mostly in the background, where it is slowed
	// down to leave the disk to appends.
	Switch, Create latency.Snapshot
}

// RecordsPerSync is how many records have shared a sync, on average; 0 if
// nothing was synced.
func (s Stats) RecordsPerSync() float64 {
	if s.Syncs == 0 {
		return 0
	}
	return float64(s.Records) / float64(s.Syncs)
}

type counters struct {
	records, bytes, flushes, waits, cancelled, deepest atomic.Uint64

	appends, async  latency.Sampler
	syncs, switches latency.Histogram
}

// init sets how many operations are timed.
func (c *counters) init(level durability.Level) {
	if level != durability.Power {
		c.appends.OneOf = 64
	}
	c.async.OneOf = 16
}

// Stats returns the figures of now, in about 20 us. They are read one after the
// other while appends go on, so they may not fit together to the last one.
func (l *Log) Stats() Stats {
	s := Stats{
		Records:     l.stats.records.Load(),
		Bytes:       l.stats.bytes.Load(),
		Flushes:     l.stats.flushes.Load(),
		Waits:       l.stats.waits.Load(),
		Dropped:     l.stats.cancelled.Load(),
		MostTook:    l.stats.deepest.Load(),
		Append:      l.stats.appends.Snapshot(),
		AppendAsync: l.stats.async.Snapshot(),
		Sync:        l.stats.syncs.Snapshot(),
		Switch:      l.stats.switches.Snapshot(),
	}
	s.Syncs = s.Sync.Count()
	if l.store == nil { // it was never opened
		return s
	}
	s.Mechanism = l.out.mech
	s.InQueue = l.queue.Len()
	s.Create = l.store.made.Snapshot()
	s.Segments, s.Prepared = l.store.counts()
	return s
}
