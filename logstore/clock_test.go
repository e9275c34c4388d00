package logstore

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A wrongClock is ahead, or behind.
type wrongClock struct {
	testClock
	ahead atomic.Int64
}

func (c *wrongClock) Now() time.Time { return c.testClock.Now().Add(time.Duration(c.ahead.Load())) }

// With the clock ahead for half a second, nothing is deleted, an entry of the true
// time is kept, and one ahead of the true time is refused once the clock is right.
func TestClockAhead(t *testing.T) {
	const day = 24 * time.Hour
	c := new(wrongClock)
	c.ns.Store(newTestClock().ns.Load())
	o := small()
	o.Clock, o.Retention = c, 30*day
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "a")
	ctx := context.Background()
	mustAppend(t, s, one(l, c.at(0), "before"))
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	c.ahead.Store(int64(60 * day))
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats().ClockAhead; got != 60*day {
		t.Errorf("Stats.ClockAhead is %v, want 60 days", got)
	}
	mustAppend(t, s, one(l, c.at(time.Minute), "during"))
	c.ns.Add(int64(time.Second / 2))
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	c.ahead.Store(0)
	if err := s.Append(ctx, one(l, c.at(time.Hour), "ahead")); !errors.Is(err, ErrFuture) {
		t.Errorf("an entry an hour ahead: %v, want ErrFuture", err)
	}
	if err := s.Append(ctx, one(l, c.at(-31*day), "expired")); !errors.Is(err, ErrExpired) {
		t.Errorf("an entry of 31 days ago: %v, want ErrExpired", err)
	}
	if got := contents(t, s); len(got) != 2 {
		t.Errorf("kept %v, want both lines", got)
	}
	if st := s.Stats(); st.Retired != 0 || st.ClockAhead != 0 {
		t.Errorf("%d segments deleted, the clock %v ahead; want 0", st.Retired, st.ClockAhead)
	}
}

// A store that is opened again soon trusts its clock at once, as the log tells how
// far it had come; if the clock is ahead then, nothing is deleted.
func TestClockOfTheLog(t *testing.T) {
	c := new(wrongClock)
	c.ns.Store(newTestClock().ns.Load())
	o := small()
	o.Clock, o.Retention = c, time.Hour
	dir := t.TempDir()
	s := openTest(t, dir, o)
	l := MustLabels("app", "a")
	mustAppend(t, s, one(l, c.at(0), "in a segment"))
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.ns.Add(int64(30 * time.Minute))
	mustAppend(t, s, one(l, c.at(0), "in the log"))
	for i, ahead := range []time.Duration{0, 24 * time.Hour, 0} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		c.ns.Add(int64(30 * time.Second))
		c.ahead.Store(int64(ahead))
		s = openTest(t, dir, o)
		if got := s.Stats().ClockAhead; (got > time.Minute) != (ahead > 0) {
			t.Errorf("opened with the clock %v ahead: Stats.ClockAhead is %v", ahead, got)
		}
		if err := s.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, s); len(got) != 2+i {
			t.Errorf("opened with the clock %v ahead: kept %v, want %d lines", ahead, got, 2+i)
		}
		c.ahead.Store(0)
		mustAppend(t, s, one(l, c.at(0), "later"))
	}
}

// The clock of the machine goes on, and Elapsed as fast.
func TestSystemClock(t *testing.T) {
	var c systemClock
	now, elapsed := c.Now(), c.Elapsed()
	for c.Elapsed() == elapsed {
	}
	if d := c.Elapsed() - elapsed; d < 0 || d > c.Now().Sub(now)+time.Second {
		t.Errorf("Elapsed grew by %v while Now grew by %v", d, c.Now().Sub(now))
	}
}
