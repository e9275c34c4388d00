package wal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
)

// A store is the directory of an open log: lock, META and segments. The caller
// of tail, advance and close holds Log.writeMu. The other methods are safe for
// concurrent use.
type store struct {
	dir  string
	d    sys.Dir
	lock *os.File
	id   [16]byte // of the log

	segmentSize int64
	spares      int
	cow         bool // the file system never writes in place

	creates latency.Histogram // times createSegment

	// metaMu is held while META is written. It guards metaFile and metaSlot, and
	// is locked before mu.
	metaMu   sync.Mutex
	metaFile *os.File
	metaSlot int // of META, to be written first

	mu   sync.Mutex
	cond sync.Cond // of mu: preparing, ready
	meta meta
	used []*segment // ascending, without gaps; the store holds the last one
	// ready are the prepared segments, open, that follow the last used one.
	ready      []*segment
	free       []uint64 // numbers of files to be recycled
	lastNumber uint64   // of the last segment in used or ready
	preparing  bool     // prepareLoop runs
	urgent     bool     // an append waits for a prepared segment
	prepareErr error    // that ended prepareLoop
	closing    bool
	// The end of the log as openStore found it.
	tailOff  int64
	tailNext Position
	// closedAt is the offset in the last segment after a closed mark; 0 if it
	// does not end in one.
	closedAt int64
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

func (s *store) last() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[len(s.used)-1]
}

// tail returns the place of the next record, as openStore found it. All before
// off is durable.
func (s *store) tail() (g *segment, off int64, next Position) {
	return s.last(), s.tailOff, s.tailNext
}

// advance completes the last segment, which is durable up to the offset durable:
// it writes the end record at off and syncs. It returns the next segment, with
// no records.
//
// It waits for a prepared segment. If creating that fails, or the write
// (ENOSPC), nothing has changed and advance may be called again. An error that
// is errSyncFailed poisons the log.
func (s *store) advance(off, durable int64, next Position) (*segment, error) {
	to, err := s.takePrepared()
	if err != nil {
		return nil, err
	}
	from := s.last()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], to.number)
	end := from.appendRecord(nil, off, typeEnd, next, uint32(off-durable), checksum(number[:]), number[:])
	if err = from.write(end, off); err == nil {
		if err = from.sync(); err != nil {
			err = fmt.Errorf("%w: %w", errSyncFailed, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.ready = slices.Insert(s.ready, 0, to)
		return nil, err
	}
	to.first = next
	to.refs = 1
	s.used = append(s.used, to)
	s.closedAt = 0
	s.startPreparing(false)
	s.unref(from) // its close reports nothing that the sync has not
	return to, nil
}

// truncate discards all records before pos, durably, and recycles or removes the
// segments that have no others. pos is at most the next position, and all before
// it must be durable, since a log that ends before the position in META counts
// as damaged. A Reader that holds one of the segments reads on.
func (s *store) truncate(pos Position) error {
	s.metaMu.Lock()
	defer s.metaMu.Unlock()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	m := s.meta
	first := 0 // in used, to be kept
	for first+1 < len(s.used) && s.used[first+1].first <= pos {
		first++
	}
	m.segment = s.used[first].number
	s.mu.Unlock()
	if pos <= m.first {
		return nil
	}
	m.first, m.next = pos, max(m.next, pos)
	m.sequence++
	if err := writeMeta(s.metaFile, m, s.metaSlot); err != nil {
		return err
	}

	s.mu.Lock()
	s.meta = m
	old := slices.Clone(s.used[:first])
	s.used = slices.Delete(s.used, 0, first)
	old = slices.DeleteFunc(old, func(g *segment) bool {
		g.truncated = true
		return g.refs > 0 // the last release reclaims it
	})
	s.mu.Unlock()
	for _, g := range old {
		s.reclaim(g)
	}
	return nil
}

// find returns the segment of the record pos, which may be the next one, and
// holds it: call release. The error is ErrTruncated if pos has been discarded.
func (s *store) find(pos Position) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pos < s.meta.first {
		return nil, ErrTruncated
	}
	i, ok := slices.BinarySearchFunc(s.used, pos, func(g *segment, p Position) int { return cmp.Compare(g.first, p) })
	if !ok {
		i-- // the first segment begins at meta.first or before
	}
	// Of segments with the same first position only the last has data records.
	for i+1 < len(s.used) && s.used[i+1].first == pos {
		i++
	}
	return s.hold(s.used[i])
}

// after returns the segment that follows g, held; nil if g is the last. The
// error is ErrTruncated if that segment has been truncated away.
func (s *store) after(g *segment) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.used[0].number
	switch i := g.number + 1 - first; {
	case g.number+1 < first:
		return nil, ErrTruncated
	case i >= uint64(len(s.used)):
		return nil, nil
	default:
		return s.hold(s.used[i])
	}
}

// hold counts a reference to g, and opens g if it is not open. The caller has
// locked mu.
func (s *store) hold(g *segment) (*segment, error) {
	if s.closing {
		return nil, ErrClosed
	}
	if g.file == nil {
		if err := g.open(false); err != nil {
			return nil, err
		}
	}
	g.refs++
	return g, nil
}

// release gives back a segment that find or after returned.
func (s *store) release(g *segment) {
	s.mu.Lock()
	reclaim := s.unref(g) && g.truncated
	s.mu.Unlock()
	if reclaim {
		s.reclaim(g)
	}
}

// unref gives back one reference to g, and reports whether it was the last. The
// caller has locked mu.
func (s *store) unref(g *segment) bool {
	g.refs--
	if g.refs > 0 {
		return false
	}
	g.close() // of a file that was only read, or has been synced
	return true
}

// first returns the position before which all records are discarded.
func (s *store) first() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta.first
}

// counts returns the numbers of used and of prepared segments.
func (s *store) counts() (segments, prepared int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used), len(s.ready)
}

// close releases the directory. With mark it first syncs the last segment and
// writes the closed mark at off, durably; without, of a poisoned log, it writes
// nothing. Readers that hold segments may read on and release them later.
func (s *store) close(off int64, next Position, mark bool) error {
	s.mu.Lock()
	s.closing = true
	for s.preparing {
		s.cond.Wait()
	}
	s.mu.Unlock()
	// A truncation under way ends before another process may write META.
	s.metaMu.Lock()
	defer s.metaMu.Unlock()
	var err error
	if mark {
		err = s.mark(off, next)
	}
	return errors.Join(err, s.closeFiles())
}

// mark writes the closed mark, and the end of the log to META. The mark says that
// all before it is durable, so it is written after a sync. The caller has locked
// metaMu.
func (s *store) mark(off int64, next Position) error {
	if off == s.closedAt {
		return nil
	}
	g := s.last()
	if err := g.sync(); err != nil {
		return err
	}
	if err := g.write(g.appendRecord(nil, off, typeClosed, next, 0, 0, nil), off); err != nil {
		return err
	}
	if err := g.sync(); err != nil {
		return err
	}
	s.mu.Lock()
	s.meta.sequence++
	s.meta.next = next
	m := s.meta
	s.mu.Unlock()
	return writeMeta(s.metaFile, m, s.metaSlot)
}

// closeFiles closes the files of the store and releases the lock.
func (s *store) closeFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if n := len(s.used); n > 0 {
		s.unref(s.used[n-1])
	}
	for _, g := range s.ready {
		errs = append(errs, g.close())
	}
	s.ready = nil
	if s.metaFile != nil {
		errs = append(errs, s.metaFile.Close())
	}
	if s.lock != nil {
		errs = append(errs, unlockDir(s.lock))
	}
	errs = append(errs, s.d.Close())
	return errors.Join(errs...)
}
