package wal

import (
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

// A store is the folder of an open log: lock, META and segments. tail,
// advance and close are for whoever has the right to flush, the others for
// all goroutines.
type store struct {
	dir  string
	d    sys.Dir
	lock *os.File
	id   [16]byte // of the log

	segmentSize int64
	spares      int
	cow         bool // the file system never writes in place

	made latency.Histogram // how long segments took to make

	// truncating is held while META is written. It guards metaFile and stale,
	// and is taken before mu.
	truncating sync.Mutex
	metaFile   *os.File
	stale      int // the slot of META to be written first

	mu   sync.Mutex
	cond sync.Cond // of mu: running, ready
	meta meta
	used []*segment // ascending, without gaps; the last one is held by the store
	// ready are prepared segments, open, that follow the last used one.
	ready      []*segment
	free       []uint64 // numbers of files that can be used again
	lastNumber uint64   // of the last segment in used or ready
	running    bool     // segments are being made
	urgent     bool     // and somebody waits for one
	prepareErr error    // why they could not be
	closing    bool
	// What openStore found, and closed marks.
	tailOff  int64
	tailNext Position
	closedAt int64 // offset in the last segment behind a closed mark; 0: it has none
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

func (s *store) last() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[len(s.used)-1]
}

// tail is where the next record goes, as openStore found it. All before off is
// durable.
func (s *store) tail() (g *segment, off int64, next Position) {
	return s.last(), s.tailOff, s.tailNext
}

// advance completes the last segment, of which all before durable is durable:
// it writes the end record at off and syncs. Then all of that segment is
// durable. It returns the next segment, whose records begin at firstOffset.
//
// It waits for a prepared segment or makes one. If that, or the write, fails
// (ENOSPC), nothing has changed, and it may be called again. An error that is
// errUnknownState poisons the log.
func (s *store) advance(off, durable int64, next Position) (*segment, error) {
	to, err := s.take()
	if err != nil {
		return nil, err
	}
	from := s.last()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], to.number)
	end := from.appendRecord(nil, off, typeEnd, next, uint32(off-durable), checksum(number[:]), number[:])
	if err = from.write(end, off); err == nil {
		if err = from.sync(); err != nil {
			err = fmt.Errorf("%w: %w", errUnknownState, err)
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
	s.start(false)
	// Its close tells nothing that the sync has not told.
	s.drop(from)
	return to, nil
}

// truncate gives up all records before pos, durably, and recycles or removes
// segments that have no others. pos is at most the next position, and all
// before it must be durable: a log that ends before the position in META is
// taken for damaged. Who holds one of the segments goes on reading it.
func (s *store) truncate(pos Position) error {
	s.truncating.Lock()
	defer s.truncating.Unlock()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	m := s.meta
	gone := 0
	for gone+1 < len(s.used) && s.used[gone+1].first <= pos {
		gone++
	}
	m.segment = s.used[gone].number
	s.mu.Unlock()
	if pos <= m.first {
		return nil
	}
	m.first, m.next = pos, max(m.next, pos)
	m.sequence++
	if err := writeMeta(s.metaFile, m, s.stale); err != nil {
		return err
	}

	s.mu.Lock()
	s.meta = m
	old := slices.Clone(s.used[:gone])
	s.used = slices.Delete(s.used, 0, gone)
	old = slices.DeleteFunc(old, func(g *segment) bool {
		g.dropped = true
		return g.refs > 0 // whoever releases it last reclaims it
	})
	s.mu.Unlock()
	for _, g := range old {
		s.reclaim(g)
	}
	return nil
}

// find returns the segment that holds pos, or where pos will be if it is the
// next one, and holds it: release it. ErrTruncated: pos has been given up.
func (s *store) find(pos Position) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pos < s.meta.first {
		return nil, ErrTruncated
	}
	i, ok := slices.BinarySearchFunc(s.used, pos, func(g *segment, p Position) int {
		switch {
		case g.first < p:
			return -1
		case g.first > p:
			return 1
		}
		return 0
	})
	if !ok {
		i-- // the first segment begins at meta.first or before
	}
	// Of segments that begin at the same position only the last can have a
	// record: the others have none but control records.
	for i+1 < len(s.used) && s.used[i+1].first == pos {
		i++
	}
	return s.hold(s.used[i])
}

// after returns the segment that follows g, held; nil: g is the last. If g has
// been truncated away meanwhile, and the next one as well: ErrTruncated.
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

// hold opens g unless it is. The caller holds mu.
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

// release ends what find and after began.
func (s *store) release(g *segment) {
	s.mu.Lock()
	gone := s.drop(g) && g.dropped
	s.mu.Unlock()
	if gone {
		s.reclaim(g)
	}
}

// drop gives one hold of g back, and reports whether it was the last. The
// caller holds mu.
func (s *store) drop(g *segment) bool {
	g.refs--
	if g.refs > 0 {
		return false
	}
	g.close() // of a file that was only read, or has been synced
	return true
}

// first is the position before which all is given up.
func (s *store) first() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta.first
}

// counts is for statistics: segments with records, and prepared ones.
func (s *store) counts() (segments, prepared int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used), len(s.ready)
}

// close gives the folder back. With mark it first syncs the last segment and
// writes the closed mark at off, durably; without (a poisoned log) it writes
// nothing. Readers that hold segments may read on, and release them later.
func (s *store) close(off int64, next Position, mark bool) error {
	s.mu.Lock()
	s.closing = true
	for s.running {
		s.cond.Wait()
	}
	s.mu.Unlock()
	// One that is under way ends before META is another process's to write.
	s.truncating.Lock()
	defer s.truncating.Unlock()
	var err error
	if mark {
		err = s.mark(off, next)
	}
	return errors.Join(err, s.give())
}

// mark writes the closed mark, and notes in META where the log ends. The sync
// before is what the mark says: that all before it is durable. The caller
// holds truncating, or is alone.
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
	return writeMeta(s.metaFile, m, s.stale)
}

// give closes what the store has open.
func (s *store) give() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if n := len(s.used); n > 0 {
		s.drop(s.used[n-1])
	}
	for _, g := range s.ready {
		errs = append(errs, g.close())
	}
	s.ready = nil
	if s.metaFile != nil {
		errs = append(errs, s.metaFile.Close())
	}
	if s.lock != nil {
		errs = append(errs, unlockFolder(s.lock))
	}
	errs = append(errs, s.d.Close())
	return errors.Join(errs...)
}
