package catalog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A faultyPlace fails that many syncs.
type faultyPlace struct {
	Place
	syncs int
}

func (p *faultyPlace) Sync(ctx context.Context) error {
	if p.syncs > 0 {
		p.syncs--
		return fs.ErrPermission
	}
	return p.Place.Sync(ctx)
}

// A sync that failed does not stop the store: the next round, and CompactAll at
// once, goes on, and then nothing is wrong any more.
func TestFailedSyncIsTriedAgain(t *testing.T) {
	for _, urgent := range []bool{false, true} {
		o, c := testOptions()
		s := open(t, t.TempDir(), o)
		s.place = &faultyPlace{s.place, 1}
		want := publishSmall(t, s)
		if err := s.Maintain(t.Context()); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "may come back") {
			t.Fatalf("error %v, want that of the sync", err)
		}
		publishSmall(t, s)
		if err := s.Maintain(t.Context()); err == nil || s.Stats().Compactions != 1 {
			t.Errorf("at once: error %v, %d compactions; want the error, and 1", err, s.Stats().Compactions)
		}
		if urgent {
			if err := s.CompactAll(t.Context()); err != nil {
				t.Error(err)
			}
		} else {
			c.forward(time.Second)
		}
		maintain(t, s)
		if st := s.Stats(); st.Compactions < 2 || st.Obsolete != 0 || st.SyncErrors != 1 {
			t.Errorf("stats: %+v", st)
		}
		if got := served(t, s); len(got) != 2*len(want) {
			t.Errorf("%d lines, want %d", len(got), 2*len(want))
		}
	}
}

// What replaced sources stays until a sync has succeeded behind their removal.
func TestChainWaitsForTheSync(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = time.Hour
	s := open(t, dir, o)
	s.place = &faultyPlace{s.place, 2}
	for range growth {
		publish(t, s, 1, rowsOf(c.Now().UnixNano(), 3, "a"))
	}
	for range 2 {
		if err := s.Maintain(t.Context()); err == nil {
			t.Error("no error while the sync has not succeeded")
		}
		if files := namesIn(t, dir, SegmentDir); len(files) != 1 {
			t.Errorf("files %v, want the compacted one, also once it has expired", files)
		}
		c.forward(2 * time.Hour)
	}
	maintain(t, s)
	if files := namesIn(t, dir, SegmentDir); len(files) != 0 {
		t.Errorf("left: %v", files)
	}
}

// A failure is told until its cause is gone: then the next round, or CompactAll,
// succeeds.
func TestTroubleThatIsGone(t *testing.T) {
	for _, urgent := range []bool{false, true} {
		dir := t.TempDir()
		o, c := testOptions()
		s := open(t, dir, o)
		publishSmall(t, s)
		// A directory has the place of the compacted segment.
		taken := filepath.Join(dir, SegmentDir, (positions{0, 16, 1}).String())
		if err := os.MkdirAll(filepath.Join(taken, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Maintain(t.Context()); err == nil || !strings.Contains(err.Error(), "compact 8 segments") {
				t.Errorf("error %v, want that of the compaction, also while it is not tried again", err)
			}
		}
		if st := s.Stats(); st.FailedCompactions != 1 {
			t.Errorf("%d failed compactions, want 1: the second was not due", st.FailedCompactions)
		}
		if err := os.RemoveAll(taken); err != nil {
			t.Fatal(err)
		}
		if urgent {
			if err := s.CompactAll(t.Context()); err != nil {
				t.Errorf("CompactAll: %v", err)
			}
		} else {
			c.forward(10 * time.Second)
			maintain(t, s)
		}
		if st := s.Stats(); st.Compactions != 1 {
			t.Errorf("%d compactions, want 1", st.Compactions)
		}
	}
}

// A failure of work that is not wanted any more is forgotten.
func TestFailureIsForgotten(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	s := open(t, dir, o)
	publishSmall(t, s)
	taken := filepath.Join(dir, SegmentDir, (positions{0, 16, 1}).String())
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); err == nil {
		t.Fatal("no error")
	}
	c.forward(10 * time.Second)
	s.o.SegmentSize = 1 // nothing is compacted any more
	maintain(t, s)
}

// Quarantine may be emptied, or removed, while the store is open.
func TestQuarantineIsRemoved(t *testing.T) {
	o, _ := testOptions()
	dir, first, _ := twoSegments(t, o, publish)
	path := filepath.Join(dir, SegmentDir, (positions{1, 2, 0}).String())
	if err := os.WriteFile(path, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, o)
	if err := os.RemoveAll(filepath.Join(dir, QuarantineDir)); err != nil {
		t.Fatal(err)
	}
	maintain(t, s)
	equalLines(t, "the other", served(t, s), sortedLines(first))
	if st := s.Stats(); st.Quarantined != 1 || st.Obsolete != 0 {
		t.Errorf("stats %+v", st)
	}
	if err := os.RemoveAll(filepath.Join(dir, QuarantineDir)); err != nil {
		t.Fatal(err)
	}
	maintain(t, s)
	if st := s.Stats(); st.Quarantined != 0 {
		t.Errorf("%d segments in quarantine, want 0 as somebody has removed it", st.Quarantined)
	}
}
