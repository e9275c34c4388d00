package wal

import (
	"sync/atomic"
	"time"
)

// Stats are figures of a log since it was opened.
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

	Segments      int // files that have records, or will have the next
	Prepared      int // files made ready for later
	Switches      uint64
	LongestSwitch time.Duration // that an append had to wait for the next file
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
	records, bytes, flushes, syncs, waits, cancelled, deepest, switches atomic.Uint64
	longestSwitch                                                       atomic.Int64
}

// Stats returns the figures of now. They are read one after the other while
// appends go on, so they may not fit together to the last one.
func (l *Log) Stats() Stats {
	s := Stats{
		Mechanism:     l.out.mech,
		Records:       l.stats.records.Load(),
		Bytes:         l.stats.bytes.Load(),
		Flushes:       l.stats.flushes.Load(),
		Syncs:         l.stats.syncs.Load(),
		Waits:         l.stats.waits.Load(),
		Dropped:       l.stats.cancelled.Load(),
		InQueue:       l.queue.Len(),
		MostTook:      l.stats.deepest.Load(),
		Switches:      l.stats.switches.Load(),
		LongestSwitch: time.Duration(l.stats.longestSwitch.Load()),
	}
	s.Segments, s.Prepared = l.store.counts()
	return s
}
