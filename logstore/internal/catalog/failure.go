package catalog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A failure is why something could not be done, and until when, by Clock.Elapsed,
// it is not tried again. A nil *failure means that nothing has failed.
type failure struct {
	err   error
	until time.Duration
}

// newFailure returns the failure of an attempt that began at begun. The pause is so
// long that attempts take a twentieth of the time, but never long for a person who
// has removed the cause: what fails at once is tried again in the next round.
func (c *Catalog) newFailure(err error, begun time.Duration) *failure {
	elapsed := c.o.Clock.Elapsed()
	return &failure{err, elapsed + min(max(20*(elapsed-begun), time.Second), retryAfter)}
}

// retryAfter is how long a pause is at most, and how long a segment that was found
// intact is not read again for the same reason.
const retryAfter = 10 * time.Minute

// waits reports whether the next attempt is not due yet.
func (f *failure) waits(elapsed time.Duration) bool { return f != nil && elapsed < f.until }

// errNoSpace is in the chain of an error of a compaction that was not begun, as the file
// system has not the space for it.
var errNoSpace = errors.New("waiting for space")

// checkSpace returns an error if a compaction that writes so many bytes must wait.
func (c *Catalog) checkSpace(bytes int64) error {
	if c.o.CheckSpace == nil {
		return nil
	}
	if err := c.o.CheckSpace(bytes); err != nil {
		return fmt.Errorf("%w: %w", errNoSpace, err)
	}
	return nil
}

// A postponedFile is one whose rewrite waits for space.
type postponedFile struct {
	failure *failure
	pause   time.Duration
}

// postpone notes that a file waits for space. It is not tried again in this round of
// maintenance: as many files may wait, the first would be due before the last was tried.
func (c *Catalog) postpone(f *file, err error, begun time.Duration) {
	f.failure = c.newFailure(err, begun)
	c.postponed = append(c.postponed, postponedFile{f.failure, f.failure.until - c.o.Clock.Elapsed()})
	f.failure.until = math.MaxInt64
}

// endPostponed begins the pauses of the files that wait for space.
func (c *Catalog) endPostponed() {
	for _, p := range c.postponed {
		p.failure.until = c.o.Clock.Elapsed() + p.pause
	}
	c.postponed = nil
}

// eachFailure calls f with each place for a failure. The maintenance token is held.
func (c *Catalog) eachFailure(f func(**failure)) {
	f(&c.syncFailure)
	f(&c.writeFailure)
	for _, list := range [][]*file{c.unreadable, c.current.Load().order} {
		for _, file := range list {
			f(&file.failure)
		}
	}
}

// retryNow ends all pauses, also those between looks at what has expired.
func (c *Catalog) retryNow() {
	c.eachFailure(func(f **failure) {
		if *f != nil {
			(*f).until = 0
		}
	})
	for _, file := range c.current.Load().order {
		file.expiryAt = 0
	}
}

// forgetFailures forgets those of work that is not wanted any more: it was due, and
// there is nothing to do.
func (c *Catalog) forgetFailures() {
	elapsed := c.o.Clock.Elapsed()
	c.eachFailure(func(f **failure) {
		if !(*f).waits(elapsed) {
			*f = nil
		}
	})
}

// failures joins all that failed and has not succeeded since.
func (c *Catalog) failures() error {
	var seen []*failure
	var errs []error
	c.eachFailure(func(f **failure) {
		if *f != nil && !slices.Contains(seen, *f) {
			seen = append(seen, *f)
			errs = append(errs, (*f).err)
		}
	})
	return errors.Join(errs...)
}
