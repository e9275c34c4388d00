package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
)

// An obsoleteFile is no longer served. It stays in the directory until no
// snapshot uses it: a snapshot may open it again by its name, as the number of
// open files is bounded.
type obsoleteFile struct {
	file      *file
	removedIn uint64  // the first version without it
	damaged   *report // its report, if it goes into quarantine

	// The holder of the maintenance token owns these:
	unlinked bool // it has left the directory
	durable  bool // and a sync has made that durable
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
// quarantines damaged ones. After a sync that failed, which removals will last
// is unknown, and a second sync would prove nothing (fsync(2)): then nothing is
// removed any more until the catalog is opened again.
//
// The maintenance token is held.
func (c *Catalog) deleteObsolete() error {
	var errs []error
	for c.syncErr == nil {
		files := c.deletable()
		moved := false
		for _, g := range files {
			if !c.files.evict(g.file) {
				continue
			}
			c.runs.drop(g.file.id)
			err := c.unlink(g)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			g.unlinked, moved = true, true
		}
		if !moved {
			break
		}
		if err := c.syncDirs(); err != nil {
			c.syncErr = err
			break
		}
		c.mu.Lock()
		kept := c.obsolete[:0]
		for _, g := range c.obsolete {
			g.durable = g.unlinked
			if !g.durable {
				kept = append(kept, g)
			}
		}
		clear(c.obsolete[len(kept):])
		c.obsolete = kept
		c.counters.obsolete.Store(int64(len(kept)))
		c.mu.Unlock()
		for _, g := range files {
			g.file.replaces = nil // all of these are gone
		}
	}
	return errors.Join(append(errs, c.syncErr)...)
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
func (c *Catalog) unlink(g *obsoleteFile) error {
	if g.damaged != nil {
		return c.quarantine(g.file.name, g.damaged)
	}
	return c.remove(g.file.name)
}

// remove removes a file of segments/. A file that does not exist is no error.
func (c *Catalog) remove(name string) error {
	err := c.root.Remove(SegmentDir + "/" + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: filepath.Join(c.dir, SegmentDir, name), Err: err}
	}
	c.counters.deleted.Add(1)
	return nil
}

// syncDirs makes the names in both directories durable: first where names
// are added, then where they are removed.
func (c *Catalog) syncDirs() error {
	for _, name := range []string{QuarantineDir, SegmentDir} {
		if err := c.syncDir(name); err != nil {
			return fmt.Errorf("catalog: nothing is deleted until the store is opened again: %w", err)
		}
	}
	return nil
}
