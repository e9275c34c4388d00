package mkdir

import (
	"errors"
	"io/fs"
	"iter"
	"slices"

	"github.com/stele-go/stele/internal/sys"
)

// Created is what a Batch made. It is for one goroutine at a time.
type Created struct {
	m     *Maker
	paths []string // each after its parent

	// When the first and the last of them were made, by the file system's
	// clock. Both are 0 where it does not tell.
	first, last int64

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
	for i := range b.plan {
		if b.plan[i].state.Load()&made != 0 {
			c.paths = append(c.paths, b.plan[i].path)
		}
	}
	var ends []string
	for _, s := range b.spans {
		ends = append(ends, b.plan[s.first].path, b.plan[s.last].path)
	}
	if !c.bounds(ends) {
		c.bounds(c.paths) // one is gone already: those that are left have to do
	}
}

// bounds takes the times of birth from the directories paths, and reports
// whether all were there.
func (c *Created) bounds(paths []string) bool {
	c.first, c.last = 0, 0
	all := true
	for _, path := range paths {
		fi, err := c.m.lstat(path)
		if err != nil {
			all = false
			continue
		}
		if fi.Born == 0 {
			continue // this file system does not tell
		}
		if c.first == 0 || fi.Born < c.first {
			c.first = fi.Born
		}
		c.last = max(c.last, fi.Born)
	}
	return all
}

// Len is the number of directories that were made and not removed by Undo.
func (c *Created) Len() int { return len(c.paths) }

// Paths are these directories, relative to the root, each after its parent.
func (c *Created) Paths() iter.Seq[string] { return slices.Values(c.paths) }

// Undo removes what the batch made and is still empty, deepest first. What is
// not empty stays, and is no error. What is gone or has been replaced since
// by something that is no directory is left alone. So is a directory that was
// not born while the batch ran, on file systems that record that (statx(2),
// STATX_BTIME; ext4, XFS, btrfs): an inode number would not do, as a file
// system may give it to the next directory. Where birth times are not
// recorded an empty directory of the same name is taken for the batch's.
// Unless the Maker is confined, symlinks on the way are followed, as they were
// by the batch.
//
// A removal survives what Options.Level says; a crash in the middle leaves
// some of the directories, none of them without its parent
// (durability.Prefix). Undo goes on after an error and returns all of them;
// it may be called again, for what it left. It needs the Maker open.
func (c *Created) Undo() error {
	m := c.m
	if err := m.acquire(""); err != nil {
		return err
	}
	defer m.release()
	var (
		errs    []error
		removed bool
		left    []string // deepest first
		d       = m.root
		cut     int
		inside  string // d's path
	)
	defer func() { m.leave(d) }()
	if c.unsync == nil {
		c.unsync = map[string]bool{}
	}
	for _, path := range slices.Backward(c.paths) {
		var err error
		if up := parent(path); m.confined && up != inside {
			m.leave(d)
			inside = up
			if d, cut, err = m.enter(up); err != nil {
				d, cut, inside = m.root, 0, ""
			}
		}
		if err == nil {
			err = c.remove(d, path, path[cut:])
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
			left = append(left, path)
		default:
			left = append(left, path)
			errs = append(errs, &fs.PathError{Op: "mkdir.Undo", Path: m.join(path), Err: err})
		}
	}
	if removed {
		m.known.clear()
	}
	slices.Reverse(left)
	c.paths = left
	for dir := range c.unsync {
		if err := m.syncDir(dir); err != nil && !notThere(err) {
			errs = append(errs, err)
			continue
		}
		delete(c.unsync, dir)
	}
	return errors.Join(errs...)
}

// remove removes path, which is name in d, if it is the batch's.
func (c *Created) remove(d sys.Dir, path, name string) error {
	if c.first != 0 {
		fi, err := d.Lstat(name)
		if err != nil {
			return err
		}
		if fi.IsDir && fi.Born != 0 && (fi.Born < c.first || fi.Born > c.last) {
			return fs.ErrNotExist // ours does not
		}
	}
	return d.Rmdir(name)
}
