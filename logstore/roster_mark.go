package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// markSuffix ends the name of a mark: a file in the directory of segments with the name of
// a segment that is gone for good. A mark takes the place of a change of the roster that
// the log had no space for: an empty file needs none on ext4, and a link to one that is
// there, the log's LOCK, needs none on XFS either. It is removed once a later roster is
// durable. One that a crash leaves behind does no harm, as no position is used twice.
const markSuffix = ".gone"

// markGone makes marks, durably.
func (s *Store) markGone(gone []catalog.Holding) error {
	dir := filepath.Join(s.dir, catalog.SegmentDir)
	for _, h := range gone {
		name := strings.TrimSuffix(h.Name(), catalog.SegmentSuffix) + markSuffix
		if err := makeMark(filepath.Join(dir, name), filepath.Join(s.dir, logDir, "LOCK")); err != nil {
			return err
		}
		s.roster.marked = true
	}
	return syncDir(dir)
}

// makeMark makes a file, or a link to one.
func makeMark(path, other string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		return f.Close()
	}
	if isFull(err) {
		if err := os.Link(other, path); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	return err
}

// marksIn returns the marks of the store in dir.
func marksIn(dir string) (gone []catalog.Holding) {
	files, err := filepath.Glob(filepath.Join(dir, catalog.SegmentDir, "*"+markSuffix))
	if err != nil {
		return nil // the pattern is well-formed, unless the directory's name has signs of one
	}
	for _, file := range files {
		if info, ok := catalog.ParseName(strings.TrimSuffix(filepath.Base(file), markSuffix) + catalog.SegmentSuffix); ok {
			gone = append(gone, catalog.Holding{After: info.After, Upto: info.Upto, Generation: info.Generation})
		}
	}
	return gone
}

// dropMarks removes the marks, unless there are some that no roster knows of. The log
// has been synced since the last roster.
func (s *Store) dropMarks() error {
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.marked || r.stale {
		return nil
	}
	var errs []error
	for _, h := range marksIn(s.dir) {
		name := strings.TrimSuffix(h.Name(), catalog.SegmentSuffix) + markSuffix
		if err := os.Remove(filepath.Join(s.dir, catalog.SegmentDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	r.marked = len(errs) > 0
	if r.marked {
		return fmt.Errorf("marks of segments that are gone: %w", errors.Join(errs...))
	}
	return nil
}
