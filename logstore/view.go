package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A view is a snapshot of all entries, each once: memtables and segments. Until
// it is released they stay readable, and their streams in memory known. Later
// entries may appear in the youngest memtable.
type view struct {
	mems []*memtable // oldest first; nil: released, see handOver
	segs *catalog.Snapshot
	// sealed holds the segments of memtables that were released.
	sealed []sealedOf
	// gone is what queries of each tenant leave out. It is read before the segments: one that is no
	// longer there has been applied to them.
	gone map[string]*goneSet
	// partial is nil if the view has every acknowledged entry that is intact. It is
	// ErrReplaying during replay, the error of a replay that failed, and ErrIncomplete
	// while a segment waits for its salvage.
	partial error
}

// acquire takes the memtables and the segments of one moment. The error is
// ErrClosed.
//
// A memtable leaves the list in the same step in which the segment with its
// entries enters the catalog (see seal), so no view has both or neither.
func (s *Store) acquire() (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return nil, ErrClosed
	}
	v := &view{gone: s.deletions.gone(), mems: slices.Clone(s.mems)}
	for _, m := range v.mems {
		m.acquire()
	}
	unserved := s.catalog.Unserved() // before the segments, which may have more by then
	v.segs = s.catalog.Snapshot()
	if v.partial = s.replay.state(); v.partial == nil {
		v.partial = incomplete(unserved)
	}
	return v, nil
}

// A sealedOf is the segment of a memtable of a view.
type sealedOf struct {
	*sealedMemtable
	index int // of view.mems
}

func (v *view) release() {
	for _, m := range v.mems {
		if m != nil {
			m.release()
		}
	}
	for _, t := range v.sealed {
		t.release()
	}
	v.segs.Release()
}
