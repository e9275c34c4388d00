package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
)

// A grave is a file that is served no more. It stays in the folder until no
// snapshot uses it: a snapshot may open it again by its name, as the number of
// open files is bounded.
type grave struct {
	file    *file
	until   uint64  // the first version without it
	damaged *report // it goes into quarantine, with this; nil: it is deleted

	// Of whoever maintains:
	done bool // it has left the folder
	gone bool // and a sync of the folder has made sure of that
}

// ripe reports whether it may leave the folder: no version in use has it, and
// what it was merged from will not come back.
func (g *grave) ripe(oldest uint64) bool {
	if g.done || g.until > oldest {
		return false
	}
	for _, r := range g.file.replaced {
		if !r.gone {
			return false
		}
	}
	return true
}

// reap removes from the folder what no snapshot uses any more, and quarantines
// what is damaged. After a sync that failed nobody knows which of the removals
// will last, and a second sync would prove nothing (fsync(2)): then nothing is
// removed any more until the shelf is opened anew.
//
// The maintaining token is held.
func (s *Shelf) reap() error {
	var errs []error
	for s.unsynced == nil {
		ripe := s.ripe()
		moved := false
		for _, g := range ripe {
			if !s.table.forget(g.file) {
				continue
			}
			s.cache.Drop(g.file.id)
			err := s.bury(g)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			g.done, moved = true, true
		}
		if !moved {
			break
		}
		if err := s.syncFolders(); err != nil {
			s.unsynced = err
			break
		}
		s.mu.Lock()
		kept := s.graves[:0]
		for _, g := range s.graves {
			g.gone = g.done
			if !g.gone {
				kept = append(kept, g)
			}
		}
		clear(s.graves[len(kept):])
		s.graves = kept
		s.figures.unreaped.Store(int64(len(kept)))
		s.mu.Unlock()
		for _, g := range ripe {
			g.file.replaced = nil // all of which are gone
		}
	}
	return errors.Join(append(errs, s.unsynced)...)
}

func (s *Shelf) ripe() (ripe []*grave) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetVersions()
	oldest := uint64(math.MaxUint64)
	if v := s.now.Load(); v != nil {
		oldest = v.number
	}
	for _, v := range s.old {
		oldest = min(oldest, v.number)
	}
	for _, g := range s.graves {
		if g.ripe(oldest) {
			ripe = append(ripe, g)
		}
	}
	return ripe
}

// bury has the file leave the folder of segments.
func (s *Shelf) bury(g *grave) error {
	if g.damaged != nil {
		return s.quarantine(g.file.name, g.damaged)
	}
	return s.remove(g.file.name)
}

// remove removes a file from the folder of segments. That none is there is no
// error: somebody has helped.
func (s *Shelf) remove(name string) error {
	err := s.at.Remove(SegmentFolder + "/" + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: filepath.Join(s.dir, SegmentFolder, name), Err: err}
	}
	s.figures.deleted.Add(1)
	return nil
}

// syncFolders makes durable which names are in both folders: first where names
// are added, and then where they are taken away.
func (s *Shelf) syncFolders() error {
	for _, name := range []string{QuarantineFolder, SegmentFolder} {
		if err := s.syncFolder(name); err != nil {
			return fmt.Errorf("nothing is deleted until the segments are opened anew: %w", err)
		}
	}
	return nil
}
