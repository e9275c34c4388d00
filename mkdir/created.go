package mkdir

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/stele-go/stele/internal/sys"
)

// Created is what a Batch made. It is for one goroutine at a time.
type Created struct {
	m     *Maker
	paths []string // each after its parent
	ids   []uint64 // of paths, with Options.Undo

	unsync map[string]bool // parents of what Undo removed, not synced since
}

// take notes what b made.
func (c *Created) take(b *batch) {
	n := 0
	for i := range b.plan {
		if b.plan[i].state.Load()&made != 0 {
			n++
		}
	}
	c.paths = make([]string, 0, n)
	if b.ids != nil {
		c.ids = make([]uint64, 0, n)
	}
	for i := range b.plan {
		if b.plan[i].state.Load()&made == 0 {
			continue
		}
		c.paths = append(c.paths, b.plan[i].path)
		if b.ids != nil {
			c.ids = append(c.ids, b.ids[i])
		}
	}
}

// Len is the number of directories that were made and not removed by Undo.
func (c *Created) Len() int { return len(c.paths) }

// Paths are these directories, relative to the root, each after its parent.
func (c *Created) Paths() iter.Seq[string] { return slices.Values(c.paths) }

// Undo removes what the batch made and is still empty, deepest first. What is
// not empty stays, and is no error. It needs Options.Undo, without which it
// fails with fs.ErrInvalid, and the Maker open.
//
// What is gone, or has been replaced by something else since, is left alone: a
// directory of the same name that somebody else has made within the same tick
// of the clock, too. The batch notes, right after each mkdirat(2), the handle of
// the directory (name_to_handle_at(2)), which holds a number that the next user
// of the inode does not get. Linux cannot make a directory and tell its handle
// in one call, nor remove one by its handle: a replacement between two such
// calls of a batch or of Undo, which follow each other within microseconds, is
// taken for the batch's, and removed if it is empty. Where a file system has
// no handles the inode's number and its time of birth have to do, which a
// replacement within one tick may share; off Linux the name alone. A directory
// whose handle could not be read is left, with an error.
//
// Unless the Maker is confined, symlinks on the way are followed, as they were
// by the batch.
//
// A removal survives what Options.Level says; a crash in the middle leaves
// some of the directories, none of them without its parent
// (durability.Prefix). Undo goes on after an error and returns all of them;
// it may be called again, for what it left.
func (c *Created) Undo() error {
	if err := c.undoable(); err != nil {
		return err
	}
	m := c.m
	if err := m.acquire(""); err != nil {
		return err
	}
	defer m.release()
	var (
		errs    []error
		removed bool
		left    []int // of paths, deepest first
		d       = m.root
		cut     int
		inside  string // d's path
	)
	defer func() { m.leave(d) }()
	if c.unsync == nil {
		c.unsync = map[string]bool{}
	}
	for i, path := range slices.Backward(c.paths) {
		var err error
		if up := parent(path); m.confined && up != inside {
			m.leave(d)
			inside = up
			if d, cut, err = m.enter(up); err != nil {
				d, cut, inside = m.root, 0, ""
			}
		}
		if err == nil {
			err = c.remove(d, i, path[cut:])
		}
		switch {
		case err == nil:
			removed = true
			delete(c.unsync, path)
			if m.power {
				c.unsync[parent(path)] = true
			}
		case notThere(err): // nothing of ours
		case errors.Is(err, fs.ErrExist): // ENOTEMPTY, or EEXIST on some systems
			left = append(left, i)
		default:
			left = append(left, i)
			errs = append(errs, &fs.PathError{Op: "mkdir.Undo", Path: m.join(path), Err: err})
		}
	}
	if removed {
		m.known.clear()
	}
	slices.Reverse(left)
	for to, from := range left {
		c.paths[to], c.ids[to] = c.paths[from], c.ids[from]
	}
	c.paths, c.ids = c.paths[:len(left)], c.ids[:len(left)]
	for dir := range c.unsync {
		if err := m.syncDir(dir); err != nil && !notThere(err) {
			errs = append(errs, err)
			continue
		}
		delete(c.unsync, dir)
	}
	return errors.Join(errs...)
}

func (c *Created) undoable() error {
	switch {
	case c.m == nil:
		return fmt.Errorf("mkdir: Created.Undo: %w: no Batch made this Created", fs.ErrInvalid)
	case !c.m.undo:
		return &badOption{"mkdir: Options.Undo: false; want true for Created.Undo", fs.ErrInvalid}
	}
	return nil
}

var errUnidentified = errors.New("whether it is the directory that was made is not known: it could not be identified then")

// remove removes path i, which is name in d, if it is the batch's.
func (c *Created) remove(d sys.Dir, i int, name string) error {
	if id, err := d.Handle(name); err != nil {
		return err
	} else if c.ids[i] == unidentified {
		return errUnidentified
	} else if id != c.ids[i] {
		return fs.ErrNotExist // ours does not
	}
	return d.Rmdir(name)
}
