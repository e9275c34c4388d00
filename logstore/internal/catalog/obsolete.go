package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// An obsoleteFile is no longer served. It stays in the directory until no
// snapshot uses it: a snapshot may open it again by its name, as the number of
// open files is bounded.
type obsoleteFile struct {
	file      *file
	removedIn uint64  // the first version without it
	damaged   *report // its report, if it goes into quarantine
	lone      bool    // no segment replaces it

	// The holder of the maintenance token owns these:
	announced bool // Options.Removing knows of it
	unlinked  bool // it has left the directory
	durable   bool // and a sync has made that durable
}

// deletable reports whether the file may be removed: no version in use has it,
// and the sources that it replaced are gone for good.
func (g *obsoleteFile) deletable(oldest uint64) bool {
	if g.unlinked || g.removedIn > oldest {
		return false
	}
	for _, r := range g.file.replaces {
		if !r.durable {
			return false
		}
	}
	return true
}

// deleteObsolete removes the files that no snapshot uses any more, and
// quarantines damaged ones. It returns what could not be removed, which the next
// call tries again, and sets syncFailure.
//
// After a sync that failed, which removals last is unknown until a later one
// succeeds: file systems with a journal write all changes of names with it. On one
// without, the second sync may prove nothing (fsync(2)), and a power cut may bring
// a file back whose replacement is gone. It is served then, as any segment that
// retention had deleted just before the cut, and deleted once more.
//
// The maintenance token is held.
func (c *Catalog) deleteObsolete(ctx context.Context) error {
	if c.o.ReadOnly {
		return nil // they only leave the version
	}
	for {
		moved, err := c.unlinkObsolete(ctx)
		if !moved && !c.place.Unsynced() || c.syncFailure.waits(c.o.Clock.Elapsed()) {
			return err
		}
		if !c.syncRemovals(ctx) {
			return err
		}
	}
}

// unlinkObsolete removes those that may be removed now from the directory.
func (c *Catalog) unlinkObsolete(ctx context.Context) (moved bool, err error) {
	files, err := c.announce(c.deletable())
	errs := []error{err}
	gone := map[uint64]bool{}
	defer func() { c.parts.drop(gone) }()
	for _, g := range files {
		if !c.files.evict(g.file) {
			continue
		}
		gone[g.file.id] = true
		if err := c.unlink(ctx, g); err != nil {
			errs = append(errs, err)
			continue
		}
		g.unlinked, moved = true, true
	}
	return moved, errors.Join(errs...)
}

// syncRemovals makes the removals of all that was unlinked durable, and reports
// whether it did.
func (c *Catalog) syncRemovals(ctx context.Context) bool {
	begun := c.o.Clock.Elapsed()
	err := c.place.Sync(ctx)
	if err != nil && ctx.Err() != nil {
		return false // the place has not failed
	}
	if err != nil {
		c.counters.syncErrors.Add(1)
		c.syncFailure = c.newFailure(fmt.Errorf("catalog: removed segments may come back after a power cut: %w", err), begun)
		return false
	}
	c.syncFailure = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.obsolete[:0]
	for _, g := range c.obsolete {
		if g.durable = g.unlinked; g.durable {
			g.file.replaces = nil // all of these are gone
		} else {
			kept = append(kept, g)
		}
	}
	clear(c.obsolete[len(kept):])
	c.obsolete = kept
	c.counters.obsolete.Store(int64(len(kept)))
	return true
}

func (c *Catalog) deletable() (files []*obsoleteFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropOldVersions()
	oldest := uint64(math.MaxUint64)
	if v := c.current.Load(); v != nil {
		oldest = v.number
	}
	for _, v := range c.oldVersions {
		oldest = min(oldest, v.number)
	}
	for _, g := range c.obsolete {
		if g.deletable(oldest) {
			files = append(files, g)
		}
	}
	return files
}

// unlink removes or quarantines the file.
func (c *Catalog) unlink(ctx context.Context, g *obsoleteFile) error {
	if g.damaged != nil {
		return c.setAside(ctx, g.file, g.damaged)
	}
	return c.remove(ctx, g.file.name)
}

// remove removes a segment from its place. One that is not there is no error.
func (c *Catalog) remove(ctx context.Context, name string) error {
	if err := c.place.Remove(ctx, name); err != nil {
		return err
	}
	c.counters.deleted.Add(1)
	return nil
}
