package fileio_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stele-go/stele/fileio"
)

// Each sync is timed once, whatever the mechanism, and so is each call that waits for
// one. Writes to the kernel and reads are sampled.
func TestLatencies(t *testing.T) {
	for _, c := range []struct {
		o           fileio.WriterOptions
		sync, waits uint64
	}{
		{fileio.WriterOptions{}, 10, 10},
		{fileio.WriterOptions{Sync: fileio.SyncDsync}, 10, 10},
		{fileio.WriterOptions{Policy: fileio.EachWrite()}, 20, 20}, // two writes for each commit, which does nothing
		{fileio.WriterOptions{Policy: fileio.EachWrite(), Sync: fileio.SyncDsync}, 20, 20},
		{fileio.WriterOptions{Policy: fileio.Never()}, 0, 0},
	} {
		w := newWriter(t, create(t), c.o)
		for range 10 {
			for range 2 {
				_, err := w.Write(record)
				ok(t, err)
			}
			ok(t, w.Commit())
			ok(t, w.Commit()) // nothing to do
		}
		s := w.Stats()
		if s.Sync.Count() != c.sync || s.Commit.Count() != c.waits || int64(c.sync) != s.Syncs {
			t.Errorf("%+v: %d syncs and %d waits are timed of %d syncs", c.o, s.Sync.Count(), s.Commit.Count(), s.Syncs)
		}
		if c.sync > 0 && s.Commit.Max() < s.Sync.Min() {
			t.Errorf("%+v: a commit of %v with a sync of %v", c.o, s.Commit.Max(), s.Sync.Min())
		}
		ok(t, w.Close())
	}
	w := newWriter(t, create(t), fileio.WriterOptions{Policy: fileio.Never()})
	for range 8000 {
		_, err := w.WriteString("x")
		ok(t, err)
		ok(t, w.Flush())
	}
	// A 32nd of 8,000: 250, with a deviation of 15.
	if s := w.Stats(); s.Flush.OneOf() != 32 || s.Flush.Count() < 100 || s.Flush.Count() > 400 {
		t.Errorf("%d of %d writes are timed", s.Flush.Count(), s.Calls)
	}
	r := open(t, fileOf(t, content(10_000)), fileio.Options{Way: fileio.Buffered})
	for range 64_000 {
		_, err := r.ReadAt(make([]byte, 10), 5)
		ok(t, err)
	}
	if s := r.Stats(); s.Read.OneOf() != 256 || s.Read.Count() < 100 || s.Read.Count() > 400 {
		t.Errorf("%d reads are timed", s.Read.Count())
	}
}

// No caller waits for the syncs of the clock: they do not count as commits.
func TestLatenciesOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, create(t), fileio.WriterOptions{Policy: fileio.EveryInterval(time.Second)})
		for range 5 {
			_, err := w.Write(record)
			ok(t, err)
			time.Sleep(2 * time.Second)
		}
		_, err := w.Write(record)
		ok(t, err)
		ok(t, w.Commit())
		if s := w.Stats(); s.Sync.Count() != 6 || s.Commit.Count() != 1 {
			t.Errorf("%d syncs and %d commits; want 6 and 1", s.Sync.Count(), s.Commit.Count())
		}
		ok(t, w.Close())
	})
}
