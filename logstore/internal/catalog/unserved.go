package catalog

import (
	"context"
	"fmt"
	"slices"
)

// Missing returns what OpenReadOnly or OpenFiles could not serve: an error for each
// segment.
func (c *Catalog) Missing() []error { return slices.Clone(c.missing) }

// Passed returns the segments of the store's log that OpenReadOnly could not serve, or
// only a part of: Missing and events have told why.
func (c *Catalog) Passed() []Holding { return slices.Clone(c.passed) }

// miss notes and tells that a segment is not served.
func (c *Catalog) miss(f *file, err error) {
	c.passed = append(c.passed, holdingOf(f))
	c.missFile(f, err)
}

// missFile does so for a file that takes the place of no segment.
func (c *Catalog) missFile(f *file, err error) {
	c.missing = append(c.missing, err)
	c.tell(c.about(f, Damaged, "not served: "+err.Error()))
}

// dropUnread returns the files that could be read.
func (c *Catalog) dropUnread(all []*foundFile) []*foundFile {
	return slices.DeleteFunc(all, func(f *foundFile) bool {
		if f.unread != nil {
			c.miss(f.file, f.unread)
		}
		return f.unread != nil
	})
}

// noteRejected notes the files that Open would move into quarantine.
func (c *Catalog) noteRejected(plan recoveryPlan) {
	for _, f := range plan.rejected {
		if f.foreign {
			c.missing = append(c.missing, fmt.Errorf("catalog: %s: %s", c.path(f.file), f.why))
			c.tell(c.about(f.file, Foreign, f.why+"; served: "+f.kept))
			continue
		}
		if f.elsewhere {
			c.tell(c.about(f.file, Damaged, f.why+"; served: "+f.kept))
			continue
		}
		miss := c.miss
		if f.misplaced {
			miss = c.missFile
		}
		miss(f.file, fmt.Errorf("catalog: %s: %s; served: %s", c.path(f.file), f.why, f.kept))
	}
}

// readDamaged serves what is intact of the segments whose index is damaged, from
// memory.
func (c *Catalog) readDamaged(ctx context.Context) {
	for _, f := range slices.Clone(c.unreadable) {
		before := c.counters.salvaged.Load()
		c.repair(ctx, f)
		switch {
		case f.failure != nil:
			c.miss(f, f.failure.err)
		case c.counters.salvaged.Load() == before:
			// Its damage is told, and that nothing of it is served.
			c.missing = append(c.missing, f.damage.Load())
			c.passed = append(c.passed, holdingOf(f))
		}
	}
}
