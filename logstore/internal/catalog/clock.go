package catalog

import (
	"sync"
	"time"
)

// A Clock tells the time, as logstore.Clock says.
type Clock interface {
	Now() time.Time
	Elapsed() time.Duration
}

// A trustedClock is the time by which entries are deleted. One wrong reading of a
// clock must not delete anything, so it doubts readings that are ahead:
//
//   - It goes on by Clock.Elapsed from the last reading that it believed. At
//     first that is when the newest segment was made, or what witness says.
//   - A reading behind that is believed: it keeps entries longer. One that agrees,
//     within clockSlack, with the time from which the clock was set back, and with
//     Clock.Elapsed since, is believed too: one wrong reading behind changes nothing. But
//     readings of less than clockDoubt, before which nothing told a time, are no time to
//     come back to: it may be they that were wrong.
//   - A reading ahead is believed if it is at most clockSlack ahead, and clocks
//     that always go fast are believed to be 2 % fast.
//   - A reading further ahead is believed once all readings of clockDoubt have
//     agreed with it, within clockSlack. As a wrong reading before a long pause
//     and one after it prove little, a pause counts as clockPause at most.
//   - A store that lives shortly never has clockDoubt in one life. So a Doubt goes on
//     from life to life: see there.
//
// Where nothing tells a time, but there are entries, the first reading is believed,
// but nothing is deleted by it before clockDoubt has passed.
//
// So it is never ahead of Clock.Now by more than what Now was set back since the
// last reading.
type trustedClock struct {
	clock Clock

	mu      sync.Mutex
	elapsed time.Duration // of the last reading
	time    int64         // the trusted time at that, in Unix nanoseconds
	ceiling int64         // a reading up to this was believed; at least time
	high    int64         // the trusted time if the clock had not been set back; at least time
	// A doubted reading, as far as it was ahead of time, and for how long those
	// after it have agreed. ahead is 0 if the last reading was believed.
	ahead  time.Duration
	agreed time.Duration
	// unproven is how long nothing is deleted yet, and young how long the readings are no
	// time to come back to.
	unproven, young time.Duration
	noReturn        bool // high is of readings that were young

	last    int64 // the last reading
	earlier Doubt // of earlier lives; its Agreed is without that of this one
}

// A Doubt is what the readings that a trusted clock does not believe have in common over
// several lives of a store: since a reading of Time, which goes on by Clock.Elapsed while
// the store is open, none was less, nor less than one before. How much time passes
// between lives nothing tells, so only the time in which the store was open counts: once
// that is clockDoubt in all, Time is believed. That is a bound from below: it lies behind
// the clock by the lives in which it was agreed upon, and what the clock says since then is
// doubted as before, with the readings of this life agreed upon already.
//
// So a store that is opened for ten minutes each hour has a trusted time that is an hour
// or two behind, and deletes by it. A clock that is wrong for less than clockDoubt of
// real time deletes nothing, however many lives fall into that. One reading that is less
// than one before ends the Doubt, and so does one in a life that is further ahead by more
// than clockSlack.
type Doubt struct {
	Time, Last int64 // Unix nanoseconds; Last is the last reading
	Agreed     time.Duration
}

const (
	clockSlack = time.Minute
	clockDoubt = 15 * time.Minute
	clockPause = time.Minute
)

// newTrustedClock returns a clock that begins at known, in Unix nanoseconds, or if
// that is 0 at the first reading; entries tells whether there are any then. earlier is
// the doubt in which the last life ended.
func newTrustedClock(c Clock, known int64, entries bool, earlier Doubt) *trustedClock {
	t := &trustedClock{clock: c, elapsed: c.Elapsed(), time: known, earlier: earlier}
	if known == 0 {
		t.time, t.young = c.Now().UnixNano(), clockDoubt
		if entries {
			t.unproven = clockDoubt
		}
	}
	t.ceiling, t.high = t.time+int64(clockSlack), t.time
	return t
}

// read reads the clock. It returns the trusted time, and by how much the clock is
// ahead of it: 0 if it is believed.
func (t *trustedClock) read() (trusted int64, ahead time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLocked()
	return t.time, t.ahead
}

// created reads the clock. It returns the trusted time if another life may begin
// there: not one that was set back, which may be wrong, or is not proven. Then it
// returns 0.
func (t *trustedClock) created() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readLocked(); t.unproven > 0 || t.setBack() {
		return 0
	}
	return t.time
}

// latest reads the clock. It returns the trusted time if it had not been set back.
func (t *trustedClock) latest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLocked()
	return t.high
}

// doubt reads the clock. It returns the doubt in which this life would end now; its
// Agreed is 0 if the clock is believed.
func (t *trustedClock) doubt() Doubt {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLocked()
	switch {
	case t.ahead == 0:
		return Doubt{}
	case t.earlier.Agreed > 0:
		return Doubt{t.earlier.Time, t.last, t.earlier.Agreed + t.agreed}
	}
	return Doubt{min(t.last, t.time+int64(t.ahead)), t.last, t.agreed}
}

// setBack reports whether the clock was set back. mu is held.
func (t *trustedClock) setBack() bool { return t.high-t.time > int64(clockSlack) }

func (t *trustedClock) readLocked() {
	elapsed := t.clock.Elapsed()
	now := t.clock.Now().UnixNano()
	passed := max(0, elapsed-t.elapsed)
	t.elapsed += passed
	t.time += int64(passed)
	t.high += int64(passed)
	t.ceiling += int64(passed + passed/50)
	t.earlier.Time += int64(passed)
	t.last = now
	t.unproven = max(0, t.unproven-min(passed, clockPause))
	t.young = max(0, t.young-min(passed, clockPause))
	restored := t.setBack() && !t.noReturn && max(now-t.high, t.high-now) <= int64(clockSlack)
	if now <= t.ceiling || restored || t.doubted(time.Duration(now-t.time), passed) {
		t.noReturn = t.setBack() && t.noReturn || t.young > 0 && t.time-now > int64(clockSlack)
		t.time = now
		t.ahead, t.earlier = 0, Doubt{}
	}
	t.high = max(t.high, t.time)
	t.ceiling = min(max(t.ceiling, t.time), t.time+int64(clockSlack))
}

// witness tells that an earlier trusted clock has come to at, in Unix nanoseconds.
func (t *trustedClock) witness(at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unproven > 0 {
		t.unproven, t.time, t.ceiling, t.high = 0, at, at, at
	}
	t.forward(at)
	t.ceiling = max(t.ceiling, at+int64(clockSlack))
	t.high = max(t.high, t.time)
}

// proven reports whether entries may be deleted by the trusted time.
func (t *trustedClock) proven() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unproven == 0
}

// forward sets the trusted time to at, unless it is that far. A reading that is ahead is
// less so then. mu is held.
func (t *trustedClock) forward(at int64) {
	by := time.Duration(max(0, at-t.time))
	t.time += int64(by)
	if t.ahead != 0 {
		t.ahead = max(1, t.ahead-by)
	}
}

// doubted notes a reading that is ahead, passed after the one before, and reports
// whether it is to be believed by now.
func (t *trustedClock) doubted(ahead, passed time.Duration) bool {
	if t.ahead == 0 {
		t.ahead, t.agreed = ahead, 0
		if t.last < t.earlier.Last-int64(clockSlack) {
			t.earlier = Doubt{}
		}
		return false
	}
	if d := ahead - t.ahead; d > clockSlack || d < -clockSlack {
		t.ahead, t.agreed, t.earlier = ahead, 0, Doubt{}
		return false
	}
	t.agreed += min(passed, clockPause)
	if e := t.earlier; e.Agreed > 0 && e.Agreed+t.agreed >= clockDoubt {
		t.forward(min(e.Time, t.last))
		t.earlier = Doubt{}
		if t.last-t.time <= int64(clockSlack) {
			return true
		}
	}
	return t.agreed >= clockDoubt
}
