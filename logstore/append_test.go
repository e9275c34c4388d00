package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	now := time.Now().UnixNano()
	api, db := MustLabels("app", "api"), MustLabels("app", "db")
	b := Batch{
		{api, []Entry{{Time: now, Line: []byte("one")}, {Time: now, Line: []byte("one")}, {Time: now - 5, Line: nil}}},
		{db, []Entry{{Time: now, Line: []byte("\x00\xff"), Metadata: MustLabels("trace", "77", "user", "x")}}},
		{db, nil},
		{api, []Entry{{Time: now + 1, Line: []byte("two")}}},
	}
	mustAppend(t, s, b)
	want := map[kept]int{
		{api.enc, now, "one", ""}:     2,
		{api.enc, now - 5, "", ""}:    1,
		{api.enc, now + 1, "two", ""}: 1,
		{db.enc, now, "\x00\xff", MustLabels("trace", "77", "user", "x").enc}: 1,
	}
	sameCounts(t, "in memory", counted(contents(t, s)), want)
	// The lines were the caller's again.
	clear(b[0].Entries[0].Line)
	sameCounts(t, "after a line was changed", counted(contents(t, s)), want)
	mustAppend(t, s, nil)
	mustAppend(t, s, Batch{{api, nil}})
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameCounts(t, "sealed", counted(contents(t, s)), want)
	if st := s.Stats(); st.MemoryEntries != 0 || st.Sealed != 1 || st.Entries != 5 || st.SealedStreams != 2 || st.LogFirst+1 != st.LogNext { // the log has the roster alone
		t.Errorf("%+v", st)
	}
	until(t, "no stream is in memory", func() bool { return s.Stats().Streams == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sameCounts(t, "opened anew", counted(contents(t, openTest(t, dir, small()))), want)
}

// Entries of a stream are ordered by time, and by append for equal times, in
// memory and in segments.
func TestOrderOfEqualTimes(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	l := MustLabels("app", "api")
	now := time.Now().UnixNano()
	var want []string
	for i := range 300 {
		mustAppend(t, s, Batch{
			{l, []Entry{{Time: now, Line: fmt.Append(nil, i, "a")}, {Time: now - 1000, Line: fmt.Append(nil, i, "early")}, {Time: now, Line: fmt.Append(nil, i, "b")}}},
			{l, []Entry{{Time: now, Line: fmt.Append(nil, i, "c")}}},
		})
		want = append(want, fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c"))
	}
	order := func(what string) {
		var got []string
		last := int64(0)
		for _, k := range contents(t, s) {
			if k.time < last {
				t.Fatalf("%s: %d after %d", what, k.time, last)
			}
			if last = k.time; k.time == now {
				got = append(got, k.line)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v", what, got)
		}
	}
	order("in memory")
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	order("sealed")
}

func TestRejectedErrorSaysWhetherOthersWereKept(t *testing.T) {
	for accepted, want := range map[int]string{0: "1 of 1 entries refused, none kept;", 2: "1 of 3 entries refused, the others kept;"} {
		err := &RejectedError{Accepted: accepted, Rejected: []Rejection{{code: refusedLength}}}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%d accepted: %v; want %q", accepted, err, want)
		}
	}
}

func TestRejected(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock, o.MaxLine, o.Retention = clock, 100, 24*time.Hour
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	long := bytes.Repeat([]byte("x"), 101)
	e := func(d time.Duration) Entry { return Entry{Time: clock.at(d), Line: []byte("x")} }
	for _, c := range []struct {
		name   string
		labels Labels
		entry  Entry
		want   error
		text   string
	}{
		{"now", l, e(0), nil, ""},
		{"just not too late", l, e(-time.Hour), nil, ""},
		{"too late", l, e(-time.Hour - 1), ErrTooOld, "want 2026-05-17T11:00:00Z or later, by the newest entry of the stream"},
		{"late, the first of its stream", MustLabels("app", "new"), e(-23 * time.Hour), nil, ""},
		{"just not expired", MustLabels("app", "kept"), e(-24 * time.Hour), nil, ""},
		{"expired", MustLabels("app", "older"), e(-24*time.Hour - 1), ErrExpired, "want 2026-05-16T12:00:00Z or later (Options.Retention)"},
		{"ahead", MustLabels("app", "ahead"), e(10 * time.Minute), nil, ""},
		{"too far ahead", l, e(10*time.Minute + 1), ErrFuture, "want 2026-05-17T12:10:00Z or earlier (Options.FutureWindow)"},
		{"no time", l, Entry{Time: math.MaxInt64}, ErrFuture, "want less"},
		{"before 1970", MustLabels("app", "1969"), Entry{Time: -1}, ErrTooOld, "want 0 ns or more"},
		{"a long line", l, Entry{Time: clock.at(0), Line: long[:100]}, nil, ""},
		{"too long a line", l, Entry{Time: clock.at(0), Line: long}, ErrTooLong, "101 bytes; want at most 100"},
		{"no labels", Labels{}, e(0), ErrLabels, "want at least one"},
	} {
		// Between two entries that are kept.
		other := MustLabels("app", "other")
		b := Batch{{other, []Entry{e(0)}}, {c.labels, []Entry{c.entry}}, {other, []Entry{e(1)}}}
		before := len(contents(t, s))
		err := s.Append(context.Background(), b)
		if c.want == nil {
			if err != nil || len(contents(t, s)) != before+3 {
				t.Errorf("%s: %v, %d entries more", c.name, err, len(contents(t, s))-before)
			}
			continue
		}
		var r *RejectedError
		if !errors.As(err, &r) || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(r.Rejected) != 1 || r.Accepted != 2 || r.Rejected[0].Stream != 1 || r.Rejected[0].Entry != 0 || r.Rejected[0].Time != c.entry.Time {
			t.Errorf("%s: %+v", c.name, r)
		}
		if len(contents(t, s)) != before+2 {
			t.Errorf("%s: %d entries more, not 2", c.name, len(contents(t, s))-before)
		}
	}
}

// The newest entry of a stream is known within a batch, across batches, and
// from segments.
func TestLateWindow(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	l := MustLabels("app", "api")
	late := Entry{Time: clock.at(-time.Hour - 1), Line: []byte("late")}
	is := Entry{Time: clock.at(0), Line: []byte("now")}
	refused := func(what string, b Batch, n int) {
		t.Helper()
		var r *RejectedError
		if err := s.Append(context.Background(), b); !errors.As(err, &r) || len(r.Rejected) != n || !errors.Is(err, ErrTooOld) {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustAppend(t, s, Batch{{l, []Entry{late}}})
	refused("in one stream of a batch", Batch{{l, []Entry{late, is, late}}}, 1)
	refused("in the next batch", Batch{{l, []Entry{late}}}, 1)
	two := MustLabels("app", "two")
	refused("in two streams of a batch", Batch{{two, []Entry{is}}, {two, []Entry{late, late}}}, 2)
	for _, what := range []string{"after replay", "after sealing"} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, dir, o)
		refused(what, Batch{{l, []Entry{late}}}, 1)
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	o.LateWindow = -1
	s.Close()
	s = openTest(t, dir, o)
	mustAppend(t, s, Batch{{l, []Entry{late}}})
}

// A batch larger than a record is kept whole.
func TestLargeBatch(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	now := time.Now().UnixNano()
	var b Batch
	want := map[kept]int{}
	for i := range 3 {
		st := Stream{Labels: MustLabels("app", "api", "host", fmt.Sprint(i))}
		for j, line := range lines(50, 100<<10) {
			st.Entries = append(st.Entries, Entry{Time: now + int64(j), Line: line})
			want[kept{st.Labels.enc, now + int64(j), string(line), ""}]++
		}
		b = append(b, st)
	}
	mustAppend(t, s, b)
	sameCounts(t, "appended", counted(contents(t, s)), want)
	if st := s.Stats(); st.LogNext < 4 {
		t.Errorf("15 MB are %d records", st.LogNext-1)
	}
	s.Close()
	sameCounts(t, "replayed", counted(contents(t, openTest(t, dir, small()))), want)
}

// TestStorm appends from many goroutines, to few streams and to many, while
// memtables are sealed all the time. Each view taken meanwhile has every entry
// acknowledged before, once.
func TestStorm(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	s.sealAt = 300 << 10
	const appenders, each = 8, 30
	var mu sync.Mutex
	acked := map[kept]int{}
	var all sync.WaitGroup
	for g := range appenders {
		all.Go(func() {
			base := time.Now().UnixNano()
			for i := range each {
				b := Batch{
					{MustLabels("app", "shared"), nil},
					{MustLabels("app", "own", "g", fmt.Sprint(g)), nil},
					{MustLabels("app", "new", "g", fmt.Sprint(g), "i", fmt.Sprint(i/7)), nil},
				}
				for j := range 20 * len(b) {
					st := &b[j%len(b)]
					line := fmt.Appendf(nil, "%d %d %d %s", g, i, j, strings.Repeat("y", j))
					st.Entries = append(st.Entries, Entry{Time: base + int64(i%3*1000+j), Line: line})
				}
				if err := s.Append(context.Background(), b); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, st := range b {
					for _, e := range st.Entries {
						acked[kept{st.Labels.enc, e.Time, string(e.Line), ""}]++
					}
				}
				mu.Unlock()
				if g == 0 { // once, twice, three times
					until(t, "memory is sealed", func() bool { return s.Stats().Sealed >= uint64(i+1)*3/each })
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		mu.Lock()
		before := make(map[kept]bool, len(acked))
		for k := range acked {
			before[k] = true
		}
		mu.Unlock()
		got := counted(contents(t, s))
		for k, n := range got {
			if n > 1 {
				t.Fatalf("%d times %v", n, k)
			}
		}
		for k := range before {
			if got[k] != 1 {
				t.Fatalf("%v was acknowledged and is not there", k)
			}
		}
	}
	if len(acked) != appenders*each*60 {
		t.Fatalf("%d entries were acknowledged", len(acked))
	}
	if n := s.Stats().Sealed; n < 3 {
		t.Errorf("memory was sealed only %d times", n)
	}
	sameCounts(t, "at the end", counted(contents(t, s)), acked)
	// As after kill -9.
	again := copyStore(t, dir)
	sameCounts(t, "replayed", counted(contents(t, openTest(t, again, small()))), acked)
	if err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameCounts(t, "compacted", counted(contents(t, s)), acked)
}

func TestClosed(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	l := MustLabels("app", "api")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Append(context.Background(), one(l, 1, "x")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := s.Seal(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := s.Compact(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := s.acquire(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	s.Stats()
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir, small())
	if s, err := Open(dir, small()); !errors.Is(err, ErrLocked) {
		s.Close()
		t.Error(err)
	}
}
