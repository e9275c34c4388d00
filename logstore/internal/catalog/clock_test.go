package catalog

import (
	"slices"
	"testing"
	"time"
)

// A reading is made after some time has passed, by a clock that is wrong. Both
// are of that reading, or of all readings of 10 s each.
type reading struct {
	passed, wrong time.Duration
	for10s        bool
	// behind is by how much the trusted time is behind the true time then.
	behind time.Duration
}

const day = 24 * time.Hour

func TestTrustedClock(t *testing.T) {
	for _, c := range []struct {
		name   string
		known  time.Duration // the newest segment, relative to the start; 0: none
		series []reading
	}{
		{"right", 0, []reading{{time.Second, 0, false, 0}, {time.Hour, 0, true, 0}, {40 * day, 0, false, 0}}},
		{"ahead for half a second", 0, []reading{
			{time.Second, 0, false, 0}, {time.Second, 60 * day, false, 0}, {time.Second / 2, 60 * day, false, 0}, {time.Second, 0, false, 0}, {time.Hour, 0, true, 0},
		}},
		{"ahead now and then", 0, []reading{
			{10 * time.Minute, 60 * day, true, 0}, {time.Second, 0, false, 0}, {10 * time.Minute, 60 * day, true, 0}, {time.Second, 0, false, 0}, {10 * time.Minute, 60 * day, true, 0},
		}},
		{"ahead, each time differently", 0, []reading{
			{10 * time.Minute, 60 * day, true, 0}, {10 * time.Minute, 61 * day, true, 0}, {10 * time.Minute, 60 * day, true, 0},
		}},
		{"14 minutes ahead", 0, []reading{{14 * time.Minute, 60 * day, true, 0}}},
		{"16 minutes ahead", 0, []reading{{16 * time.Minute, 60 * day, true, -60 * day}}},
		{"ahead in two readings a day apart", 0, []reading{{time.Second, 60 * day, false, 0}, {day, 60 * day, false, 0}}},
		{"ahead before and after a pause", 0, []reading{{10 * time.Minute, 60 * day, true, 0}, {day, 60 * day, false, 0}}},
		{"a minute ahead", 0, []reading{{time.Second, time.Minute, false, -time.Minute}, {time.Second, 2 * time.Minute, false, -time.Minute}}},
		{"back", -time.Minute, []reading{{time.Second, 0, false, 0}, {time.Second, -60 * day, false, 60 * day}, {time.Second, 0, false, 0}, {time.Hour, 0, true, 0}}},
		{"back after the first reading, which nothing confirms", 0, []reading{{time.Second, -60 * day, false, 60 * day}, {time.Second, 0, false, 60 * day}, {time.Hour, 0, true, 0}}},
		{"back after a quarter of an hour", 0, []reading{{16 * time.Minute, 0, true, 0}, {time.Second, -60 * day, false, 60 * day}, {time.Second, 0, false, 0}, {time.Hour, 0, true, 0}}},
		{"back, and then ahead", 0, []reading{{time.Second, -60 * day, false, 60 * day}, {time.Second, time.Hour, false, 60 * day}, {14 * time.Minute, time.Hour, true, 60 * day}, {2 * time.Minute, time.Hour, true, -time.Hour}}},
		{"opened again, and right", -time.Minute, []reading{{time.Second, 0, false, 0}}},
		{"opened again days later", -3 * day, []reading{{time.Second, 0, false, 3 * day}, {14 * time.Minute, 0, true, 3 * day}, {2 * time.Minute, 0, true, 0}}},
		{"opened with a clock that is ahead", -time.Minute, []reading{{time.Second, 60 * day, false, time.Minute}, {time.Second, 0, false, 0}}},
		{"opened with a clock that is behind", -time.Minute, []reading{{time.Second, -60 * day, false, 60 * day}, {16 * time.Minute, 0, true, 0}}},
		{"the last life's clock was ahead", 60 * day, []reading{{time.Second, 0, false, 0}, {time.Hour, 0, true, 0}}},
	} {
		k := &clock{now: time.Unix(1_800_000_000, 0)}
		known := int64(0)
		if c.known != 0 {
			known = k.Now().Add(c.known).UnixNano()
		}
		trusted := newTrustedClock(k, known, false, Doubt{})
		for i, r := range c.series {
			n := 1
			if r.for10s {
				n, r.passed = int(r.passed/(10*time.Second)), 10*time.Second
			}
			var got int64
			for range n {
				k.forward(r.passed)
				k.jump(r.wrong)
				got, _ = trusted.read()
				k.jump(-r.wrong)
			}
			if behind := time.Duration(k.Now().UnixNano() - got); behind != r.behind {
				t.Errorf("%s, reading %d: %v behind the true time, want %v", c.name, i, behind, r.behind)
			}
		}
	}
}

// A clock that always goes a little fast is believed. One that goes much too fast
// gains a minute, and 2 %, however often it is read.
func TestFastClock(t *testing.T) {
	for _, c := range []struct {
		every   time.Duration
		percent time.Duration // by which it is fast
		most    time.Duration // ahead after a day
	}{
		{10 * time.Second, 1, day / 100},
		{10 * time.Second, 100, day/50 + time.Minute},
		{10 * time.Second, 600, day/50 + time.Minute},
		{100 * time.Millisecond, 100, day/50 + time.Minute},
	} {
		k := &clock{now: time.Unix(1_800_000_000, 0)}
		trusted := newTrustedClock(k, 0, false, Doubt{})
		begin, ahead := k.Now().UnixNano(), time.Duration(0)
		for range day / c.every {
			k.forward(c.every)
			k.jump(c.every * c.percent / 100)
			got, _ := trusted.read()
			ahead = time.Duration(got-begin) - k.Elapsed()
		}
		if ahead > c.most || c.percent == 1 && ahead < c.most {
			t.Errorf("%d %% fast, read every %v: %v ahead after a day, want at most %v", c.percent, c.every, ahead, c.most)
		}
	}
}

// Where only the log has entries, and nothing tells when, a clock that is wrong at
// Open deletes none of them.
func TestUnprovenClock(t *testing.T) {
	o, c := testOptions()
	o.Retention, o.Unsealed = 30*day, true
	rows := rowsOf(c.Now().UnixNano(), 3, "a")
	c.jump(60 * day)
	s := open(t, t.TempDir(), o)
	publish(t, s, 1, rows)
	for range 14 {
		c.forward(time.Minute)
		maintain(t, s)
	}
	equalLines(t, "after 14 minutes", served(t, s), sortedLines(rows))
	c.forward(2 * time.Minute)
	maintain(t, s)
	c.forward(time.Minute)
	maintain(t, s)
	if got := served(t, s); len(got) != 0 {
		t.Errorf("after 16 minutes %d lines are left, want 0", len(got))
	}
}

// A clock that is 60 days ahead for half a second, while segments are maintained,
// deletes nothing; not when it is opened then, and not after the next Open.
func TestOneReadingDeletesNothing(t *testing.T) {
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = 30 * day
	s := open(t, dir, o)
	var want []map[string][]row
	add := func() {
		rows := rowsOf(c.Now().UnixNano(), 3, "a")
		publish(t, s, 1, rows)
		want = append(want, rows)
	}
	for range 3 {
		add()
		c.forward(day)
	}
	add()
	for _, reopen := range []bool{false, true} {
		c.jump(60 * day)
		if reopen {
			closeCatalog(t, s)
			s = open(t, dir, o)
		}
		maintain(t, s)
		c.forward(time.Second / 2)
		if err := s.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A segment of that moment does not carry the wrong time into the next life.
		rows := rowsOf(c.Now().UnixNano()-int64(60*day), 1, "during")
		publish(t, s, 1, rows)
		want = append(want, rows)
		c.jump(-60 * day)
		maintain(t, s)
		equalLines(t, "kept", served(t, s), sortedLines(want...))
	}
	// A clock that stays ahead is right in the end.
	c.jump(60 * day)
	for range 14 * 6 {
		c.forward(10 * time.Second)
		maintain(t, s)
	}
	equalLines(t, "after 14 minutes", served(t, s), sortedLines(want...))
	if _, ahead := s.Time(); ahead != 60*day {
		t.Errorf("the clock is said to be %v ahead, want 60 days", ahead)
	}
	for range 2 * 6 {
		c.forward(10 * time.Second)
		maintain(t, s)
	}
	if got := served(t, s); len(got) != 0 {
		t.Errorf("after 16 minutes %d lines are left, want 0", len(got))
	}
}

// What a record of the log says proves a time, and a lower one takes nothing back.
func TestWitness(t *testing.T) {
	k := &clock{now: time.Unix(1_800_000_000, 0)}
	then := k.Now().UnixNano()
	k.jump(60 * day)
	trusted := newTrustedClock(k, 0, true, Doubt{})
	if trusted.proven() {
		t.Error("proven before anything says a time")
	}
	for _, ago := range []time.Duration{time.Hour, 2 * time.Hour, time.Minute, 3 * time.Hour} {
		trusted.witness(then - int64(ago))
	}
	if got, ahead := trusted.read(); !trusted.proven() || got != then-int64(time.Minute) || ahead == 0 {
		t.Errorf("the time is %v of the true one, %v ahead; want a minute before, and doubt", time.Duration(got-then), ahead)
	}
	k.jump(-60 * day)
	if got, ahead := trusted.read(); got != then || ahead != 0 {
		t.Errorf("the time is %v of the true one, %v ahead; want the clock's", time.Duration(got-then), ahead)
	}
}

// While the clock is set back, no time is told to the next life, and what comes is as
// young as it would be otherwise.
func TestClockSetBack(t *testing.T) {
	k := &clock{now: time.Unix(1_800_000_000, 0)}
	trusted := newTrustedClock(k, k.Now().UnixNano(), true, Doubt{})
	for _, c := range []struct {
		by   time.Duration
		told bool
	}{{0, true}, {-time.Minute, true}, {-24 * time.Hour, false}, {0, true}, {-2 * time.Minute, false}, {-time.Minute, true}} {
		k.forward(time.Second)
		right := k.Now().UnixNano()
		k.jump(c.by)
		want := right + int64(c.by)
		if !c.told {
			want = 0
		}
		if got := trusted.created(); got != want {
			t.Errorf("set back by %v: a segment's time is %v, want %v", -c.by, time.Unix(0, got), time.Unix(0, want))
		}
		if got := trusted.latest(); got != right {
			t.Errorf("set back by %v: the latest time is %v, want %v", -c.by, time.Unix(0, got), time.Unix(0, right))
		}
		k.jump(-c.by)
	}
}

// Over lives that are each too short for it, the clock is believed as far as all of them
// agree: up to the lowest reading, gone on by the time that the store was open.
func TestDoubtOverLives(t *testing.T) {
	type life struct{ pause, open, wrong time.Duration }
	for _, c := range []struct {
		name   string
		lives  []life
		behind time.Duration // the trusted time, at the end
	}{
		{"pauses", []life{{time.Hour, 10 * time.Minute, 0}, {time.Hour, 10 * time.Minute, 0}}, time.Hour},
		{"many of a minute", slices.Repeat([]life{{time.Hour, time.Minute, 0}}, 16), 15 * time.Hour},
		{"one long one", []life{{time.Hour, 16 * time.Minute, 0}}, 0},
		{"14 minutes in all", []life{{time.Hour, 10 * time.Minute, 0}, {time.Hour, 4 * time.Minute, 0}}, 2 * time.Hour},
		{"wrong", []life{{0, 10 * time.Minute, 60 * day}, {0, 4 * time.Minute, 60 * day}}, 0},
		{"wrong, and then more so", []life{{0, 10 * time.Minute, 60 * day}, {0, 10 * time.Minute, 400 * day}}, -60 * day},
		{"wrong, less so, wrong", []life{{0, 10 * time.Minute, 60 * day}, {0, 2 * time.Minute, 30 * day}, {0, 10 * time.Minute, 60 * day}}, 0},
		{"wrong, right, wrong", []life{{0, 10 * time.Minute, 60 * day}, {0, time.Minute, 0}, {0, 10 * time.Minute, 60 * day}}, 0},
	} {
		k := &clock{now: time.Unix(1_800_000_000, 0)}
		known, doubt := k.Now().UnixNano(), Doubt{}
		var got int64
		for _, l := range c.lives {
			k.forward(l.pause)
			k.jump(l.wrong)
			trusted := newTrustedClock(k, known, false, doubt)
			for range l.open / (10 * time.Second) {
				trusted.read()
				k.forward(10 * time.Second)
			}
			got, _ = trusted.read()
			doubt, known = trusted.doubt(), trusted.created()
			k.jump(-l.wrong)
		}
		if behind := time.Duration(k.Now().UnixNano() - got); behind != c.behind {
			t.Errorf("%s: %v behind the true time, want %v", c.name, behind, c.behind)
		}
	}
}
