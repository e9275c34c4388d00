package logstore

import (
	"context"
	"iter"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A heldLog calls its functions, unless they are nil, behind each append and before the
// records are read to be replayed.
type heldLog struct {
	log
	appended func()
	replayed func()
	reads    atomic.Int64
}

func (l *heldLog) Append(ctx context.Context, rec []byte) (uint64, error) {
	pos, err := l.log.Append(ctx, rec)
	if l.appended != nil {
		l.appended()
	}
	return pos, err
}

func (l *heldLog) Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error] {
	if l.reads.Add(1) == 2 && l.replayed != nil { // Open reads them first
		l.replayed()
	}
	return l.log.Records(ctx, from)
}

// forgetfulStore returns a store with the sources "old" and "gone" in a segment, one that
// was forgotten before.
func forgetfulStore(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s := openTest(t, dir, o)
	for i, name := range []string{"early", "old", "gone"} {
		with(t, s, numbered(1, 100*i, 10, 6), AppendOptions{Source: name}, 10, 0)
	}
	if err := s.ForgetSource(t.Context(), "", "early"); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// beginRemoval tells the store that its segments are about to be removed.
func beginRemoval(s *Store) chan error {
	removed := make(chan error, 1)
	var list []catalog.Holding
	list = append(list, s.catalog.Holdings()...)
	go func() { removed <- s.removing(list) }()
	return removed
}

// Segments that are removed while the log is replayed bring no source back that the log
// says is forgotten, and take none away that it has. The removal does not wait for the
// replay, which may wait for the space that it frees.
func TestRemovalDuringReplay(t *testing.T) {
	for _, forgets := range []bool{true, false} {
		dir, o := t.TempDir(), anyTime()
		s := openTest(t, dir, o)
		want := map[string]uint64{"old": 9, "new": 9}
		if forgets {
			s.Close()
			dir = t.TempDir()
			s = forgetfulStore(t, dir, o)
			mustDo(t, s.ForgetSource(t.Context(), "", "gone"))
		} else {
			with(t, s, numbered(1, 0, 10, 6), AppendOptions{Source: "old"}, 10, 0)
			mustSeal(t, s)
		}
		with(t, s, numbered(2, 500, 5, 6), AppendOptions{Source: "new"}, 5, 0)
		with(t, s, numbered(2, 505, 5, 6), AppendOptions{Source: "new", Offset: 5}, 5, 0)
		dir = copyStore(t, dir)
		s.Close()
		begun, replay := make(chan struct{}), make(chan struct{})
		o.wrapLog = func(l log) log { return &heldLog{log: l, replayed: func() { close(begun); <-replay }} }
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		<-begun
		removed := beginRemoval(s)
		until(t, "the removal ends, or waits", func() bool { return len(removed) > 0 || s.counts.replayWaiters.Load() > 0 })
		if s.counts.replayWaiters.Load() > 0 {
			t.Error("the removal waits for the replay")
		}
		dirs := []string{copyStore(t, dir)}
		close(replay)
		if err := <-removed; err != nil {
			t.Fatal(err)
		}
		<-s.Ready()
		if got := knownSources(t, s, ""); !maps.Equal(got, want) {
			t.Errorf("after the replay: %v; want %v", got, want)
		}
		o.wrapLog = nil
		for _, dir := range append(dirs, copyStore(t, dir)) {
			again := openTest(t, dir, o)
			if got := knownSources(t, again, ""); !maps.Equal(got, want) {
				t.Errorf("after a crash: %v; want %v", got, want)
			}
		}
	}
}

// A source whose batch is being appended while segments are removed is known after a crash.
func TestRemovalDuringAppend(t *testing.T) {
	dir, o := t.TempDir(), anyTime()
	var held *heldLog
	o.wrapLog = func(l log) log {
		held = &heldLog{log: l}
		return held
	}
	s := forgetfulStore(t, dir, o)
	want := map[string]uint64{"old": 9, "gone": 9, "new": 9}
	logged, goOn := make(chan struct{}), make(chan struct{})
	first := true
	held.appended = func() {
		if first {
			first = false
			close(logged)
			<-goOn
		}
	}
	appended := make(chan error, 1)
	go func() {
		_, err := s.AppendWith(context.Background(), numbered(2, 500, 10, 6), AppendOptions{Source: "new"})
		appended <- err
	}()
	<-logged
	removed := beginRemoval(s)
	until(t, "the removal waits, or has ended", func() bool {
		if !s.appending.TryRLock() {
			return true
		}
		s.appending.RUnlock()
		return len(removed) > 0
	})
	close(goOn)
	for _, c := range []chan error{appended, removed} {
		if err := <-c; err != nil {
			t.Fatal(err)
		}
	}
	o.wrapLog = nil
	again := openTest(t, copyStore(t, dir), o)
	if got := knownSources(t, again, ""); !maps.Equal(got, want) {
		t.Errorf("after a crash: %v; want %v", got, want)
	}
}
