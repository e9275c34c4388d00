package mkdir

import (
	"errors"
	"io/fs"
	"iter"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Created lists the directories that a Batch created. It is for one goroutine at
// a time.
type Created struct {
	m     *Maker
	paths []string // each after its parent
	ids   []uint64 // of paths, with Options.Undo

	unsynced map[string]bool // parents of directories that Undo removed
}

// take records the directories that b created.
func (c *Created) take(b *batch) {
	n := 0
	for i := range b.plan {
		if b.plan[i].state.Load()&created != 0 {
			n++
		}
	}
	c.paths = make([]string, 0, n)
	if b.ids != nil {
		c.ids = make([]uint64, 0, n)
	}
	for i := range b.plan {
		if b.plan[i].state.Load()&created == 0 {
			continue
		}
		c.paths = append(c.paths, b.plan[i].path)
		if b.ids != nil {
			c.ids = append(c.ids, b.ids[i])
		}
	}
}

// Len returns the number of directories created and not removed by Undo.
func (c *Created) Len() int { return len(c.paths) }

// Paths returns an iterator over these directories, relative to the root, each
// after its parent.
func (c *Created) Paths() iter.Seq[string] { return slices.Values(c.paths) }

// Undo removes the directories that the batch created and that are still empty,
// deepest first. One that is not empty stays, without an error. Undo needs
// Options.Undo, without which it fails with fs.ErrInvalid, and the Maker open.
//
// A directory that was removed or replaced since is left alone, even if its
// replacement was created within the same tick of the clock: right after each
// mkdirat(2) the batch records the handle of the directory
// (name_to_handle_at(2)), which has a number that the next user of the inode does
// not get. Linux cannot create a directory and return its handle in one call, nor
// remove one by its handle. So a replacement between two such calls of a batch or
// of Undo, microseconds apart, counts as the batch's and is removed if it is
// empty. On a file system without handles the inode number and the birth time
// take their place, which a replacement within one tick may share; off Linux the
// name alone. A directory whose handle could not be read stays, with an error.
//
// Unless the Maker is confined, symlinks on the way are followed, as by the
// batch.
//
// A removal survives what Options.Level says; a crash during Undo leaves some of
// the directories, none without its parent (durability.Prefix). Undo goes on
// after an error and returns all errors joined. It may be called again for the
// directories that stayed.
func (c *Created) Undo() error {
	if err := c.undoable(); err != nil {
		return err
	}
	m := c.m
	if err := m.acquire(""); err != nil {
		return err
	}
	defer m.release()
	if c.unsynced == nil {
		c.unsynced = map[string]bool{}
	}
	removed, errs := c.removeEmpty()
	if removed {
		m.known.clear()
	}
	return errors.Join(append(errs, c.syncParents()...)...)
}

// removeEmpty removes the directories that are empty, deepest first, and reports
// whether it removed any. c keeps those that stay.
func (c *Created) removeEmpty() (removed bool, errs []error) {
	var (
		m      = c.m
		left   []int // indices of paths that stay, deepest first
		d      = m.root
		prefix int
		inside string // d's path
	)
	defer func() { m.leave(d) }()
	for i, path := range slices.Backward(c.paths) {
		var err error
		if up := parent(path); m.confined && up != inside {
			m.leave(d)
			inside = up
			if d, prefix, err = m.enter(up); err != nil {
				d, prefix, inside = m.root, 0, ""
			}
		}
		if err == nil {
			err = c.remove(d, i, path[prefix:])
		}
		switch {
		case err == nil:
			removed = true
			delete(c.unsynced, path)
			if m.power {
				c.unsynced[parent(path)] = true
			}
		case notThere(err): // removed or replaced
		case errors.Is(err, fs.ErrExist): // ENOTEMPTY, or EEXIST on some systems
			left = append(left, i)
		default:
			left = append(left, i)
			errs = append(errs, &fs.PathError{Op: "mkdir.Undo", Path: m.join(path), Err: err})
		}
	}
	slices.Reverse(left)
	for to, from := range left {
		c.paths[to], c.ids[to] = c.paths[from], c.ids[from]
	}
	c.paths, c.ids = c.paths[:len(left)], c.ids[:len(left)]
	return removed, errs
}

// syncParents makes the removals durable. A parent whose sync fails stays unsynced
// for the next Undo.
func (c *Created) syncParents() (errs []error) {
	for dir := range c.unsynced {
		if err := c.m.syncDir(dir); err != nil && !notThere(err) {
			errs = append(errs, err)
			continue
		}
		delete(c.unsynced, dir)
	}
	return errs
}

func (c *Created) undoable() error {
	switch {
	case c.m == nil:
		return setting.Wrong("mkdir: Created.Undo", setting.Text("a zero Created"), "one that Batch returned")
	case !c.m.undo:
		return setting.Wrong("mkdir: Options.Undo", false, "true for Created.Undo")
	}
	return nil
}

var errUnidentified = errors.New("its handle could not be read when it was created, so it may be another directory: remove it by hand")

// remove removes directory i, which is name in d, if the batch created it.
func (c *Created) remove(d sys.Dir, i int, name string) error {
	if id, err := d.Handle(name); err != nil {
		return err
	} else if c.ids[i] == unidentified {
		return errUnidentified
	} else if id != c.ids[i] {
		return fs.ErrNotExist // another has its name
	}
	return d.Rmdir(name)
}
