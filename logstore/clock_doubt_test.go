package logstore

import (
	"fmt"
	"testing"
	"time"
)

// A life opens the store, appends a line, seals it, keeps it open for so long, and ends:
// by Close, or as a crash leaves it.
func life(t *testing.T, dir string, o Options, c *testClock, open time.Duration, killed bool) (end string, st Stats) {
	t.Helper()
	s := openTest(t, dir, o)
	mustAppend(t, s, one(MustLabels("a", "b"), c.Now().UnixNano(), fmt.Sprint("line at ", c.at(0))))
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range int(open / time.Minute) {
		c.ns.Add(int64(time.Minute))
		s.catalog.Time() // as the maintainer does
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one(MustLabels("a", "b"), c.Now().UnixNano(), "at the end"))
	if killed {
		if err := s.Seal(t.Context()); err != nil { // the term and the roster tell the doubt
			t.Fatal(err)
		}
		dir = copyStore(t, dir)
	}
	st = s.Stats()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, st
}

// A store that is open for ten minutes each hour deletes by age, though no life of it is
// as long as a clock that is ahead must be so to be believed; by kills too.
func TestShortLivesRetain(t *testing.T) {
	for _, killed := range []bool{false, true} {
		c := newTestClock()
		o := small()
		o.Clock, o.Retention = c, 10*time.Hour
		dir := t.TempDir()
		var st Stats
		for range 24 {
			dir, st = life(t, dir, o, c, 10*time.Minute, killed)
			c.ns.Add(int64(50 * time.Minute))
		}
		if st.ClockAhead > 3*time.Hour {
			t.Errorf("killed %t: after 24 hours the clock is %v ahead", killed, st.ClockAhead)
		}
		s := openTest(t, dir, o)
		for _, k := range contents(t, s) {
			if age := time.Duration(c.at(0) - k.time); age > 16*time.Hour {
				t.Errorf("killed %t: a line of %v ago is left", killed, age)
			}
		}
	}
}

// A clock that is 60 days ahead in one short life deletes nothing, nor does one that is so in
// short lives within less than 15 minutes of real time, with a right one between them or
// not. After 15 minutes of such lives it is believed.
func TestShortLivesOfAWrongClock(t *testing.T) {
	const wrong = int64(60 * 24 * time.Hour)
	for _, k := range []struct {
		name    string
		lives   []time.Duration // negative: with a right clock
		deleted bool
	}{
		{"one", []time.Duration{14 * time.Minute}, false},
		{"three", []time.Duration{5 * time.Minute, 5 * time.Minute, 4 * time.Minute}, false},
		{"a right one between", []time.Duration{10 * time.Minute, -time.Minute, 10 * time.Minute}, false},
		{"15 minutes in all", []time.Duration{5 * time.Minute, 5 * time.Minute, 6 * time.Minute}, true},
	} {
		c := newTestClock()
		o := small()
		o.Clock, o.Retention, o.FutureWindow, o.LateWindow = c, 30*24*time.Hour, -1, -1
		dir := t.TempDir()
		dir, _ = life(t, dir, o, c, time.Minute, false)
		retired := int64(0)
		for _, open := range k.lives {
			c.wrong.Store(wrong)
			if open < 0 {
				open = -open
				c.wrong.Store(0)
			}
			var st Stats
			dir, st = life(t, dir, o, c, open, false)
			retired += st.Retired
		}
		if (retired > 0) != k.deleted {
			t.Errorf("%s: %d segments were deleted", k.name, retired)
		}
	}
}

// What a right clock said in a life that wrote nothing else is not forgotten in a crash.
func TestDoubtEndsDurably(t *testing.T) {
	c := newTestClock()
	o := small()
	o.Clock, o.Retention, o.FutureWindow, o.LateWindow = c, 30*24*time.Hour, -1, -1
	dir := t.TempDir()
	dir, _ = life(t, dir, o, c, time.Minute, false)
	c.wrong.Store(int64(60 * 24 * time.Hour))
	dir, _ = life(t, dir, o, c, 10*time.Minute, false)
	c.wrong.Store(0)
	openTest(t, dir, o)
	dir = copyStore(t, dir)
	c.wrong.Store(int64(60 * 24 * time.Hour))
	if _, st := life(t, dir, o, c, 10*time.Minute, false); st.Retired != 0 {
		t.Errorf("%d segments were deleted", st.Retired)
	}
}

// Nothing is written of the clock while it is believed, nor without a retention; nor is
// it told then that it is ahead.
func TestNoDoubtNoRecord(t *testing.T) {
	for _, retention := range []time.Duration{0, 24 * time.Hour} {
		c := newTestClock()
		o := small()
		o.Clock, o.Retention = c, retention
		dir := t.TempDir()
		dir, _ = life(t, dir, o, c, time.Minute, false)
		if retention == 0 {
			c.ns.Add(int64(time.Hour)) // the clock is ahead at the next Open
		}
		s := openTest(t, dir, o)
		c.ns.Add(int64(2 * time.Second))
		var w clockWatch
		if w.look(s); w.doubted {
			t.Errorf("Retention %v: the clock is told to be ahead", retention)
		}
		before := s.Stats().LogNext
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if next := openTest(t, dir, o).Stats().LogNext; next != before {
			t.Errorf("Retention %v: Close wrote %d records", retention, next-before)
		}
	}
}
