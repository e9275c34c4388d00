package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore"
)

// A figure is a metric whose value is read when Prometheus asks.
type figure[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(T) float64
}

func counterOf[T any](name, help string, value func(T) float64) figure[T] {
	return figure[T]{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, value}
}

func gaugeOf[T any](name, help string, value func(T) float64) figure[T] {
	return figure[T]{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value}
}

// A timing is a histogram that the store keeps.
type timing struct {
	desc  *prometheus.Desc
	value func(*logstore.Stats) latency.Snapshot
}

func timingOf(name, help string, value func(*logstore.Stats) latency.Snapshot) timing {
	return timing{prometheus.NewDesc(name, help, nil, nil), value}
}

// A storeCollector collects the figures of a store: from the append to the segment, and what
// became of damage.
type storeCollector struct {
	store   *logstore.Store
	figures []figure[*logstore.Stats]
	timings []timing
	memory  *prometheus.Desc
	limit   *prometheus.Desc
	groups  *prometheus.Desc
}

func newStoreCollector(store *logstore.Store) *storeCollector {
	return &storeCollector{
		store: store, figures: storeFigures, timings: storeTimings,
		memory: prometheus.NewDesc("stele_store_memory_bytes", "Memory that a share of the store uses.", []string{"share"}, nil),
		groups: prometheus.NewDesc("stele_store_log_group_records", "Records that a write of the log has, and the sync that they share: those of concurrent appends.", nil, nil),
		limit:  prometheus.NewDesc("stele_store_memory_limit_bytes", "Memory that a share of the store may use.", []string{"share"}, nil),
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type stats = *logstore.Stats

var storeFigures = []figure[*logstore.Stats]{
	counterOf("stele_store_entries_total", "Entries appended, replayed ones included.", func(s stats) float64 { return float64(s.Entries) }),
	counterOf("stele_store_bytes_total", "Bytes of lines and metadata appended.", func(s stats) float64 { return float64(s.Bytes) }),
	counterOf("stele_store_rejected_total", "Entries that the store refused.", func(s stats) float64 { return float64(s.Rejected) }),
	gaugeOf("stele_store_streams", "Streams with entries in memory.", func(s stats) float64 { return float64(s.Streams) }),
	gaugeOf("stele_store_tenants", "Tenants with entries in memory.", func(s stats) float64 { return float64(s.Tenants) }),
	gaugeOf("stele_store_keys", "Keys of batches that are remembered.", func(s stats) float64 { return float64(s.Keys) }),
	gaugeOf("stele_store_sources", "Sources that are remembered.", func(s stats) float64 { return float64(s.Sources) }),
	counterOf("stele_store_dropped_keys_total", "Keys of batches that were forgotten early, for want of memory.", func(s stats) float64 { return float64(s.DroppedKeys) }),
	gaugeOf("stele_store_memtable_entries", "Entries in memory.", func(s stats) float64 { return float64(s.MemoryEntries) }),
	gaugeOf("stele_store_memtable_bytes", "Bytes that memtables take.", func(s stats) float64 { return float64(s.MemoryUsed) }),
	gaugeOf("stele_store_waiting_appends", "Appends that wait for memory or for the replay.", func(s stats) float64 { return float64(s.Waiting) }),
	counterOf("stele_store_blocked_appends_total", "Appends that found no memory at all.", func(s stats) float64 { return float64(s.Blocked) }),
	counterOf("stele_store_delayed_seconds_total", "Time by which appends were delayed, as seals were slower than they.", func(s stats) float64 { return s.Delayed.Seconds() }),
	gaugeOf("stele_store_log_queued", "Appends that wait for the log.", func(s stats) float64 { return float64(s.LogQueued) }),
	counterOf("stele_store_log_records_total", "Records of the log: its next position.", func(s stats) float64 { return float64(s.LogNext) }),
	gaugeOf("stele_store_log_bytes", "Bytes of the files of the log.", func(s stats) float64 { return float64(s.LogBytes) }),
	gaugeOf("stele_store_to_replay", "Records of the log that are still to be replayed.", func(s stats) float64 { return float64(s.ToReplay) }),
	counterOf("stele_store_sealed_total", "Memtables written as segments.", func(s stats) float64 { return float64(s.Sealed) }),
	gaugeOf("stele_store_sealing", "1 while a memtable is written.", func(s stats) float64 { return truth(s.Sealing) }),
	gaugeOf("stele_store_segments", "Segments.", func(s stats) float64 { return float64(s.Segments) }),
	gaugeOf("stele_store_segment_bytes", "Bytes of the files of segments.", func(s stats) float64 { return float64(s.SegmentBytes) }),
	gaugeOf("stele_store_segment_entries", "Entries in segments.", func(s stats) float64 { return float64(s.SealedEntries) }),
	gaugeOf("stele_store_segment_line_bytes", "Bytes of lines and metadata in segments, before compression.", func(s stats) float64 { return float64(s.SealedLines) }),
	gaugeOf("stele_store_blocks", "Blocks of segments.", func(s stats) float64 { return float64(s.Blocks) }),
	gaugeOf("stele_store_open_files", "Segments that are open.", func(s stats) float64 { return float64(s.OpenFiles) }),
	counterOf("stele_store_compactions_total", "Compactions.", func(s stats) float64 { return float64(s.Compactions) }),
	counterOf("stele_store_compacted_bytes_total", "Bytes that compactions have written.", func(s stats) float64 { return float64(s.CompactedBytes) }),
	counterOf("stele_store_retired_total", "Segments deleted by retention.", func(s stats) float64 { return float64(s.Retired) }),
	gaugeOf("stele_store_deletions", "Deletions that are pending.", func(s stats) float64 { return float64(s.Deletions) }),
	counterOf("stele_store_deleted_entries_total", "Entries that compactions have left out.", func(s stats) float64 { return float64(s.DeletedEntries) }),
	gaugeOf("stele_store_cache_hit_ratio", "Hits of the cache of segment indexes, 0 to 1.", func(s stats) float64 { return s.CacheHits }),
	counterOf("stele_store_cache_looks_total", "Looks into the cache of segment indexes.", func(s stats) float64 { return float64(s.CacheLooks) }),
	counterOf("stele_store_cache_misses_total", "Looks into the cache of segment indexes that did not find.", func(s stats) float64 { return float64(s.CacheMisses) }),
	gaugeOf("stele_store_cache_bytes", "Bytes of the cache of segment indexes.", func(s stats) float64 { return float64(s.CacheBytes) }),
	counterOf("stele_store_damaged_total", "Segments found damaged.", func(s stats) float64 { return float64(s.Damaged) }),
	gaugeOf("stele_store_missing", "Segments that are missing.", func(s stats) float64 { return float64(s.Missing) }),
	counterOf("stele_store_lost_entries_total", "Entries lost with damaged and missing segments, where the number is known.", func(s stats) float64 { return float64(s.LostEntries) }),
	gaugeOf("stele_store_quarantined", "Segments in quarantine.", func(s stats) float64 { return float64(s.Quarantined) }),
	gaugeOf("stele_store_torn_records", "Whole records that were cut from the torn end of the log.", func(s stats) float64 { return float64(s.TornRecords) }),
	gaugeOf("stele_store_missing_positions", "Positions of the log that neither a segment nor the log has.", func(s stats) float64 { return float64(s.MissingPositions) }),
	gaugeOf("stele_store_free_bytes", "Free bytes of the file system.", func(s stats) float64 { return float64(s.Free) }),
	gaugeOf("stele_store_min_free_bytes", "Bytes of the file system that must stay free.", func(s stats) float64 { return float64(s.MinFree) }),
	gaugeOf("stele_store_low_space", "1 while appends are refused, as there is too little free space.", func(s stats) float64 { return truth(s.LowSpace) }),
	gaugeOf("stele_store_failed", "1 once the log has failed: appends are refused until the store is opened again.", func(s stats) float64 { return truth(s.Failed != nil) }),
	gaugeOf("stele_store_background_error", "1 while background work fails and is retried.", func(s stats) float64 { return truth(s.BackgroundError != nil) }),
	gaugeOf("stele_store_clock_ahead_seconds", "By how much the clock is ahead of the time by which entries are deleted.", func(s stats) float64 { return s.ClockAhead.Seconds() }),
}

var storeTimings = []timing{
	timingOf("stele_store_append_seconds", "Time of an append, with its wait for memory and for the sync.", func(s stats) latency.Snapshot { return s.Append }),
	timingOf("stele_store_sync_seconds", "Time of a sync of the log, which many appends share.", func(s stats) latency.Snapshot { return s.Sync }),
	timingOf("stele_store_seal_seconds", "Time in which a memtable became a segment.", func(s stats) latency.Snapshot { return s.Seal }),
	timingOf("stele_store_compaction_seconds", "Time of a compaction.", func(s stats) latency.Snapshot { return s.Compaction }),
	timingOf("stele_store_query_seconds", "Time of a query of the store, its consumer included.", func(s stats) latency.Snapshot { return s.Query }),
	timingOf("stele_store_query_first_seconds", "Time to the first entry of a query of the store.", func(s stats) latency.Snapshot { return s.QueryFirst }),
}

// Describe sends the descriptions of all figures.
func (c *storeCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		to <- f.desc
	}
	for _, t := range c.timings {
		to <- t.desc
	}
	to <- c.memory
	to <- c.limit
	to <- c.groups
}

// Collect sends all figures.
func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	s := c.store.Stats()
	for _, f := range c.figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(&s))
	}
	for _, t := range c.timings {
		to <- &latencyMetric{t.desc, t.value(&s).Scaled()}
	}
	to <- groupsMetric(c.groups, s.LogGroups[:])
	for _, share := range s.Memory {
		to <- prometheus.MustNewConstMetric(c.memory, prometheus.GaugeValue, float64(share.Used), share.Name)
		to <- prometheus.MustNewConstMetric(c.limit, prometheus.GaugeValue, float64(share.Limit), share.Name)
	}
}

// groupsMetric returns the counts of groups of 2^i to 2^(i+1)-1 records as a histogram. The sum
// takes each group for the smallest of its class.
func groupsMetric(desc *prometheus.Desc, groups []uint64) prometheus.Metric {
	buckets := map[float64]uint64{}
	var count, sum uint64
	for i, n := range groups {
		count += n
		sum += n << i
		buckets[float64(uint64(2)<<i-1)] = count
	}
	return prometheus.MustNewConstHistogram(desc, count, float64(sum), buckets)
}

// A serverCollector collects the figures of a server that are read when Prometheus asks.
type serverCollector struct {
	s       *Server
	figures []figure[*Server]
}

func newServerCollector(s *Server) *serverCollector {
	return &serverCollector{s, []figure[*Server]{
		gaugeOf("stele_http_connections", "Open connections.", func(s *Server) float64 { return float64(s.conns.open.Load()) }),
		counterOf("stele_http_received_bytes_total", "Bytes that clients have sent, with headers.", func(s *Server) float64 { return float64(s.conns.in.Load()) }),
		counterOf("stele_http_sent_bytes_total", "Bytes that clients were sent, with headers.", func(s *Server) float64 { return float64(s.conns.out.Load()) }),
		gaugeOf("stele_http_calls", "Pushes and queries under way.", func(s *Server) float64 { return float64(s.calls.count()) }),
		gaugeOf("stele_http_stopping", "1 once a shutdown has begun.", func(s *Server) float64 { return truth(s.stopping.Err() != nil) }),
		gaugeOf("stele_push_memory_bytes", "Bytes of bodies and entries of pushes under way.", func(s *Server) float64 { return float64(s.o.Push.Memory - s.pusher.memory.Free()) }),
		gaugeOf("stele_push_label_sets", "Label sets that are remembered.", func(s *Server) float64 { return float64(s.pusher.cache.Len()) }),
	}}
}

// Describe sends the descriptions of all figures.
func (c *serverCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		to <- f.desc
	}
}

// Collect sends all figures.
func (c *serverCollector) Collect(to chan<- prometheus.Metric) {
	for _, f := range c.figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(c.s))
	}
}
