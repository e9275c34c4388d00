package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/arena"
	"github.com/stele-go/stele/wal"
)

// appendSome appends n batches of 100 lines of 100 bytes, and returns the
// contents after that.
func appendSome(t testing.TB, s *Store, n int) map[kept]int {
	t.Helper()
	now := time.Now().UnixNano()
	want := map[kept]int{}
	for i := range n {
		st := Stream{Labels: MustLabels("app", "api", "host", fmt.Sprint(i%5))}
		for j, line := range lines(100, 100) {
			st.Entries = append(st.Entries, Entry{Time: now + int64(i), Line: line})
			want[kept{st.Labels.enc, now + int64(i), string(line), ""}]++
			_ = j
		}
		mustAppend(t, s, Batch{st})
	}
	return want
}

// However often a store is killed while it replays and seals, it has each entry
// once.
func TestReplayTwice(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		dir := t.TempDir()
		o := small()
		o.Level = level
		s := openTest(t, dir, o)
		want := appendSome(t, s, 20)
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		for k, n := range appendSome(t, s, 20) {
			want[k] += n
		}
		for range 2 {
			dir = copyStore(t, dir)
			s = openTest(t, dir, o)
			sameCounts(t, "replayed", counted(contents(t, s)), want)
		}
		if st := s.Stats(); st.Replayed != 21 || // with the roster
			st.ToReplay != 0 {
			t.Errorf("%+v", st)
		}
		// A crash after a segment was published and before the log was
		// truncated.
		copied := copyStore(t, filepath.Join(dir, logDir))
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		dir = copyStore(t, dir)
		if err := os.RemoveAll(filepath.Join(dir, logDir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(copied, filepath.Join(dir, logDir)); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, dir, o)
		sameCounts(t, "with a log that has what segments have", counted(contents(t, s)), want)
		for k, n := range appendSome(t, s, 10) {
			want[k] += n
		}
		dir = copyStore(t, dir)
		sameCounts(t, "and more", counted(contents(t, openTest(t, dir, o))), want)
	}
}

// A log larger than memory is sealed while it is replayed; queries yield the
// replayed entries, and appends wait.
func TestReplayOfMuch(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Level = durability.Kill
	big := o
	big.Memory = 256 << 20
	s := openTest(t, dir, big)
	now := time.Now().UnixNano()
	const batches, each = 120, 1000
	line := bytes.Repeat([]byte("some line "), 10)
	for i := range batches {
		st := Stream{Labels: MustLabels("app", "api", "host", fmt.Sprint(i%7))}
		for range each {
			st.Entries = append(st.Entries, Entry{Time: now + int64(i), Line: line})
		}
		mustAppend(t, s, Batch{st})
	}
	dir = copyStore(t, dir)
	s.Close()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, err := s.acquire(); err != nil {
		t.Error(err)
	} else {
		if s.replay.state() == ErrReplaying && v.partial != ErrReplaying { // still
			t.Errorf("a query while the log is replayed would end with %v", v.partial)
		}
		v.release()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Append(ctx, one(MustLabels("a", "b"), now, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("an append while the log is replayed: %v", err)
	}
	mustAppend(t, s, one(MustLabels("a", "b"), now, "x")) // waits
	if n := len(contents(t, s)); n != batches*each+1 {
		t.Errorf("%d entries, not %d", n, batches*each+1)
	}
	until(t, "memory is sealed", func() bool { return s.Stats().Sealed > 0 })
	if st := s.Stats(); st.Replayed != batches+1 || st.MemoryUsed > st.MemoryLimit {
		t.Errorf("%+v", st)
	}
}

func TestCloseWhileReplaying(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	want := appendSome(t, s, 100)
	dir = copyStore(t, dir)
	for range 5 {
		s, err := Open(dir, small())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		<-s.Ready() // closed by Close too
		if err := s.Append(t.Context(), one(MustLabels("a", "b"), 1, "x")); !errors.Is(err, ErrClosed) {
			t.Errorf("an append after it was closed: %v", err)
		}
	}
	sameCounts(t, "replayed", counted(contents(t, openTest(t, dir, small()))), want)
}

// Open reports a damaged log with file and offset, and leaves it unchanged.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	appendSome(t, s, 20)
	dir = copyStore(t, dir)
	path := filepath.Join(dir, logDir, "0000000000000001.wal")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[4096+5000] ^= 1 // within the first record
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, small())
	var c *wal.CorruptError
	if !errors.As(err, &c) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "stele repair") {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Error("the damaged log was changed")
	}
}

// A record that is not a batch is not skipped: the store serves the entries
// before it, reports it, and refuses appends.
func TestForeignRecord(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	appendSome(t, s, 2)
	s.Close()
	l, err := wal.Open(filepath.Join(dir, logDir), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(context.Background(), []byte("something else")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, small())
	if n := len(contents(t, s)); n != 200 {
		t.Errorf("%d entries", n)
	}
	if v, err := s.acquire(); err != nil || !errors.Is(v.partial, ErrFailed) || !strings.Contains(v.partial.Error(), "position 4") {
		t.Errorf("%v: a query would end with %v", err, v.partial)
	} else {
		v.release()
	}
	if err := s.Append(context.Background(), one(MustLabels("a", "b"), 1, "x")); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	if err := s.Seal(context.Background()); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	if s.Stats().Failed == nil {
		t.Error("Stats.Failed is nil")
	}
}

// A log that ends before the positions of the segments is another log: its next
// records would not be replayed.
func TestForeignLog(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	appendSome(t, s, 5)
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, logDir)); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := openTest(t, other, small()).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(other, logDir), filepath.Join(dir, logDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); err == nil || !strings.Contains(err.Error(), "bring back the right directory") {
		t.Errorf("%v", err)
	}
}

// A replay that finds no memory waits until something is sealed.
func TestReplayIsPatient(t *testing.T) {
	p := newThrottle(32*arena.ChunkSize, nil, func() {})
	p.take(30 * arena.ChunkSize)
	var refused atomic.Bool
	refuse := func() error {
		if refused.Load() {
			return errors.New("not sealed")
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- p.reserve(context.Background(), reservation{arena: 10}, refuse) }()
	until(t, "the append waits", func() bool { return p.blocked.Load() == 1 })
	refused.Store(true)
	p.wakeAll()
	if err := <-done; err == nil {
		t.Error("an append waits for what cannot be")
	}
	go func() { done <- p.reserve(context.Background(), reservation{arena: 10}, func() error { return nil }) }()
	until(t, "the replay waits", func() bool { return p.blocked.Load() == 1 })
	p.wakeAll()
	p.free(arena.ChunkSize)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A store without anything to replay is ready when Open returns, so that its first query
// is complete.
func TestNewStoreIsReady(t *testing.T) {
	dir := t.TempDir()
	for _, what := range []string{"new", "sealed"} {
		s, err := Open(dir, small())
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Ready():
		default:
			t.Errorf("a %s store is not ready", what)
		}
		for _, err := range s.Query(context.Background(), Query{}) {
			if err != nil {
				t.Errorf("the first query of a %s store: %v", what, err)
			}
		}
		if err := s.Append(context.Background(), one(MustLabels("app", "api"), 1, "x")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Seal(context.Background()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
