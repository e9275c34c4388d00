package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A view is all entries of one moment, each once: those in memory, and those in
// segments. Release it; until then nothing of it goes away, and the numbers of
// streams keep their meaning, for streams that are looked up after acquire.
// Entries that come later may show up in the youngest memtable.
type view struct {
	mems []*memtable // the oldest first; nil: it was given back, see sweep.handOver
	segs *catalog.Snapshot
	// sealed is where those are that were given back.
	sealed []*sealedMemtable
	// partial is nil if the view has all that was acknowledged before. It is
	// ErrReplaying while the log is being replayed, and an error that tells why
	// if that has failed.
	partial error

	unpin func()
}

// acquire takes the memtables and the segments of one moment, in one step. The
// error is ErrClosed.
//
// A memtable leaves the list in the same step in which the segment with its
// entries enters the catalog (seal), so no view has both, or neither.
func (s *Store) acquire() (*view, error) {
	v := &view{unpin: s.labels.Pin()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		v.unpin()
		return nil, ErrClosed
	}
	v.mems = slices.Clone(s.mems)
	for _, m := range v.mems {
		m.acquire()
	}
	v.segs = s.catalog.Snapshot()
	v.partial = s.replay.state()
	return v, nil
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
	v.unpin()
}
