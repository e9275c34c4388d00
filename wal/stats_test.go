package wal_test

import (
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// Every successful append, sync and switch is in the histogram of its kind.
func TestLatencies(t *testing.T) {
	begun := time.Now()
	l := open(t, t.TempDir(), wal.Options{SegmentSize: 64 << 10, Sync: wal.SyncFdatasync})
	rec := make([]byte, 15<<10)
	for range 3 {
		_, err := l.Append(t.Context(), rec)
		check(t, err)
	}
	_, err := l.AppendBatch(t.Context(), [][]byte{rec, rec})
	check(t, err)
	_, err = l.AppendBatch(t.Context(), nil) // appends nothing
	check(t, err)
	if _, err := l.Append(t.Context(), make([]byte, 17<<10)); err == nil {
		t.Fatal("a record that is too large is appended")
	}
	s := l.Stats()
	if s.Append.Count() != 4 || s.Append.OneOf() != 1 || s.Sync.Count() != s.Syncs || s.Syncs < 4 || s.Switch.Count() != 1 {
		t.Errorf("appends %v, syncs %v, switches %v", s.Append, s.Sync, s.Switch)
	}
	if s.Create.Count() < 1 || s.AppendAsync.Count() != 0 {
		t.Errorf("segments made: %v, asynchronous appends: %v", s.Create, s.AppendAsync)
	}
	if most := time.Since(begun); s.Append.Sum() > most || s.Sync.Sum() > s.Append.Sum() || s.Switch.Max() > s.Append.Max() || s.Sync.Min() <= 0 {
		t.Errorf("in %v: appends took %v, syncs in them %v, a switch %v of at most %v",
			most, s.Append.Sum(), s.Sync.Sum(), s.Switch.Max(), s.Append.Max())
	}
}

// Flushes are counted by how many records they have.
func TestFlushSizes(t *testing.T) {
	l := open(t, t.TempDir(), wal.Options{Level: durability.Kill})
	for _, n := range []int{1, 1, 2, 3, 4, 7, 8, 1000} {
		_, err := l.AppendBatch(t.Context(), make([][]byte, n))
		check(t, err)
	}
	s := l.Stats()
	want := [wal.FlushSizes]uint64{0: 2, 1: 2, 2: 2, 3: 1, 9: 1}
	if s.FlushSizes != want || s.Flushes != 8 || s.Records != 1026 {
		t.Errorf("%v of %d flushes with %d records; want %v", s.FlushSizes, s.Flushes, s.Records, want)
	}
}

// Where reading the clock would cost too much, appends are sampled.
func TestLatenciesAreSampled(t *testing.T) {
	const n = 20_000
	l := open(t, t.TempDir(), wal.Options{Level: durability.Kill})
	for range n {
		_, err := l.Append(t.Context(), nil)
		check(t, err)
	}
	var last *wal.Pending
	for range n {
		last = l.AppendAsync(nil)
	}
	_, err := last.Wait(t.Context())
	check(t, err)
	check(t, l.Sync())
	s := l.Stats()
	// Six standard deviations of 20,000/64 samples are a third of them.
	if e := s.Append.Estimate(); s.Append.OneOf() != 64 || e < n/2 || e > n*3/2 {
		t.Errorf("%d appends, estimated from one of %d; want about %d", e, s.Append.OneOf(), n)
	}
	if e := s.AppendAsync.Estimate(); s.AppendAsync.OneOf() != 16 || e < n/2 || e > n*3/2 {
		t.Errorf("%d asynchronous appends, estimated from one of %d; want about %d", e, s.AppendAsync.OneOf(), n)
	}
	if s.Sync.Count() != 1 || s.Syncs != 1 {
		t.Errorf("%d syncs, %v; want one", s.Syncs, s.Sync)
	}
}
