package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

func TestSealByAge(t *testing.T) {
	o := small()
	o.SealAge = time.Millisecond
	s := openTest(t, t.TempDir(), o)
	mustAppend(t, s, one(MustLabels("app", "api"), 1, "x"))
	until(t, "it is sealed", func() bool { return s.Stats().Sealed == 1 })
	// And again, after a while without appends.
	mustAppend(t, s, one(MustLabels("app", "api"), 2, "y"))
	until(t, "it is sealed", func() bool { return s.Stats().Sealed == 2 })
	if n := len(contents(t, s)); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestSealOfNothing(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	if err := s.Seal(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Compact(context.Background()); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.Sealed != 0 {
		t.Errorf("%d segments of nothing", st.Sealed)
	}
}

// However fast appends are, memory stays within the limit, and chunks are
// reused.
func TestMemoryBudget(t *testing.T) {
	o := small()
	o.Level = durability.Kill
	s := openTest(t, t.TempDir(), o)
	line := bytes.Repeat([]byte("0123456789"), 100)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 16 {
				st := Stream{Labels: MustLabels("app", "api", "g", fmt.Sprint(g))}
				for range 500 {
					st.Entries = append(st.Entries, Entry{Time: int64(i), Line: line})
				}
				if err := s.Append(context.Background(), Batch{st}); err != nil {
					t.Error(err)
				}
				if st := s.Stats(); st.MemoryUsed > st.MemoryLimit {
					t.Errorf("%d bytes, at most %d", st.MemoryUsed, st.MemoryLimit)
				}
			}
		})
	}
	group.Wait()
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	// The total is more than the memory.
	if st := s.Stats(); st.Sealed < 2 || st.Entries != 32000 {
		t.Errorf("%+v", st)
	}
	// The streams of the last memtable are forgotten in the background.
	until(t, "no memory but that of streams is used", func() bool {
		taken := s.streams.taken.Load()
		return s.Stats().MemoryUsed == taken && s.streams.taken.Load() == taken
	})
	if kept, most := s.pool.chunks.Kept(), s.o.memtableBytes(); kept == 0 || kept > most {
		t.Errorf("%d bytes of chunks are kept; want some, and at most %d", kept, most)
	}
}

// A view keeps its contents, whatever is sealed and compacted meanwhile.
func TestViewStays(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	want := appendSome(t, s, 10)
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	appendSome(t, s, 20)
	sameCounts(t, "an old view", counted(v.contents(t, s)), want)
	v.release()
}

// A stream without entries is forgotten, and one with entries in memory is not.
func TestStreamsGone(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock, o.Retention, o.SegmentSpan = clock, time.Hour, time.Minute
	dir := t.TempDir()
	s := openTest(t, dir, o)
	old, stays := MustLabels("app", "old"), MustLabels("app", "stays")
	mustAppend(t, s, Batch{
		{old, []Entry{{Time: clock.at(0), Line: []byte("x")}}},
		{stays, []Entry{{Time: clock.at(0), Line: []byte("x")}}},
	})
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	clock.ns.Add(int64(3 * time.Hour))
	mustAppend(t, s, one(stays, clock.at(0), "y"))
	s.maintainSignal.wake()
	until(t, "the segment is deleted", func() bool { return s.Stats().Retired == 1 && s.labels.Len() == 1 })
	// A new stream does not get a number that a view still holds.
	mustAppend(t, s, one(MustLabels("app", "new"), clock.at(0), "z"))
	if got := counted(v.contents(t, s)); got[kept{old.enc, clock.at(-3 * time.Hour), "x", ""}] != 1 {
		t.Errorf("an old view has %v", got)
	}
	v.release()
	want := map[kept]int{{stays.enc, clock.at(0), "y", ""}: 1, {MustLabels("app", "new").enc, clock.at(0), "z", ""}: 1}
	sameCounts(t, "what is kept", counted(contents(t, s)), want)
	// It may be added again.
	mustAppend(t, s, one(old, clock.at(0), "again"))
	want[kept{old.enc, clock.at(0), "again", ""}] = 1
	sameCounts(t, "with the old one again", counted(contents(t, s)), want)
	dir = copyStore(t, dir)
	// The file may still have been there: it is deleted once more.
	again := openTest(t, dir, o)
	for range 20 { // minutes, after which the clock is trusted to have gone on since
		clock.ns.Add(int64(time.Minute))
		if err := again.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	sameCounts(t, "opened anew", counted(contents(t, again)), want)
}

// Streams are forgotten all the time during appends to them.
func TestStreamsGoneStorm(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock, o.Retention, o.LateWindow, o.Level = clock, time.Hour, -1, durability.Kill
	s := openTest(t, t.TempDir(), o)
	var group sync.WaitGroup
	stop := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Seal(context.Background()); err != nil {
				t.Error(err)
				return
			}
			s.maintainSignal.wake()
		}
	})
	var appenders sync.WaitGroup
	for g := range 4 {
		appenders.Go(func() {
			for i := range 1000 {
				// About to expire: it expires with the next step of the clock.
				at := clock.at(-time.Hour + time.Second)
				l := MustLabels("app", "api", "g", fmt.Sprint(g), "i", fmt.Sprint(i%20))
				if err := s.Append(context.Background(), one(l, at, fmt.Sprint(i))); err != nil {
					continue // the clock went on
				}
				v, err := s.acquire()
				if err != nil {
					t.Error(err)
					return
				}
				n, ok := s.labels.Find(0, l.enc)
				if enc, found := s.labels.Labels(n); ok && (!found || enc != l.enc) {
					t.Errorf("%s has the number of %s", l, Labels{enc})
				}
				for _, m := range v.mems {
					h := m.streams.Get(n)
					if h == nil {
						continue
					}
					for _, r := range h.between(nil, at, at+1) {
						if line := string(m.line(r)); ok && atoi(line)%20 != i%20 {
							t.Errorf("%s has the line %q", l, line)
						}
					}
				}
				v.release()
				if i%10 == 0 {
					clock.ns.Add(int64(time.Second))
				}
			}
		})
	}
	appenders.Wait()
	close(stop)
	group.Wait()
	for _, k := range contents(t, s) {
		if l := (Labels{k.labels}); l.Get("i") != fmt.Sprint(atoi(k.line)%20) {
			t.Errorf("%s has the line %q", l, k.line)
		}
	}
	clock.ns.Add(int64(2 * time.Hour))
	until(t, "all streams are forgotten", func() bool {
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.maintainSignal.wake()
		return s.labels.Len() == 0
	})
}

func atoi(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

// obstructSeal makes seals of a new store's first memtable fail until the result is
// called: a directory has the name of its segment.
func obstructSeal(t *testing.T, s *Store, dir string) (remove func()) {
	t.Helper()
	_, next := s.log.Bounds()
	name := filepath.Join(dir, "segments", fmt.Sprintf("%016x-%016x-%08x.seg", 0, next-1, 0))
	if err := os.MkdirAll(filepath.Join(name, "not-empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := os.RemoveAll(name); err != nil {
			t.Error(err)
		}
	})
}

// A Seal whose ctx ends while a memtable cannot be sealed says why it cannot.
func TestSealReturnsItsError(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	mustAppend(t, s, one(MustLabels("app", "api"), 1, "x"))
	remove := obstructSeal(t, s, dir)
	ctx, cancel := context.WithCancelCause(context.Background())
	first := s.Seal(ctx)
	if first == nil || errors.Is(first, context.Canceled) {
		t.Fatalf("the first attempt: %v", first)
	}
	if err := s.Stats().BackgroundError; err == nil || !strings.Contains(err.Error(), "sealing what is in memory") {
		t.Errorf("Stats says %v", err)
	}
	why := errors.New("enough")
	cancel(why)
	root := first
	for next := errors.Unwrap(root); next != nil; next = errors.Unwrap(root) {
		root = next
	}
	if err := s.Seal(ctx); !errors.Is(err, why) || !strings.Contains(err.Error(), root.Error()) {
		t.Errorf("with a context that is done: %v; want %v and %v", err, why, root)
	}
	remove()
	until(t, "it is sealed", func() bool { return s.Seal(context.Background()) == nil })
	if err := s.Stats().BackgroundError; err != nil {
		t.Errorf("when it is sealed, Stats says %v", err)
	}
	if n := len(contents(t, s)); n != 1 {
		t.Errorf("%d entries", n)
	}
}

// Appends that find no memory while a seal fails wait until it succeeds.
func TestAppendsWaitForASealThatFails(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Level = durability.Kill
	s := openTest(t, dir, o)
	mustAppend(t, s, one(MustLabels("app", "api"), 1, "first"))
	remove := obstructSeal(t, s, dir)
	if err := s.Seal(context.Background()); err == nil {
		t.Fatal("it was sealed")
	}
	batch := Batch{{Labels: MustLabels("app", "api")}}
	for _, line := range lines(100, 10_000) {
		batch[0].Entries = append(batch[0].Entries, Entry{Time: 1, Line: line})
	}
	errs := make(chan error)
	const batches = 20 // of 1 MB; memtables may have 12 MiB
	go func() {
		for range batches {
			errs <- s.Append(context.Background(), batch)
		}
	}()
	appended := 0
	end := time.After(time.Minute)
	for blocked := false; !blocked; {
		select {
		case err := <-errs:
			if err != nil {
				t.Fatalf("batch %d: %v", appended, err)
			}
			if appended++; appended == batches {
				t.Fatal("memory does not end")
			}
		case <-end:
			t.Fatal("no append waits for memory")
		case <-time.After(time.Millisecond):
			blocked = s.throttle.blocked.Load() > 0 && s.seals.lastErr.Load() != nil
		}
	}
	// At least one more attempt fails while it waits.
	before := *s.seals.lastErr.Load()
	until(t, "the seal fails again", func() bool { return *s.seals.lastErr.Load() != before })
	remove()
	for ; appended < batches; appended++ {
		if err := <-errs; err != nil {
			t.Fatalf("batch %d: %v", appended, err)
		}
	}
	if n := s.Stats().Entries; n != 1+100*batches {
		t.Errorf("%d entries", n)
	}
}
