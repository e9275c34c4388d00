package logstore

import (
	"context"
	"math"
)

// A newestEntry is what an append knows of the entries of a stream before the
// next one: the time of the newest, counting those of segments only if they are
// later than above.
type newestEntry struct{ time, above int64 }

// newestOf returns what is known of st, nil if it has no entry in memory, and of
// the entries of the batch, which st does not have yet as the batch may not be
// kept.
func newestOf(st *stream, seen seenStream) newestEntry {
	n := newestEntry{noTime, math.MaxInt64}
	if st != nil {
		n.above = st.above.Load()
		n.time = st.newest.Load()
	}
	if seen.rows > 0 {
		n.time = max(n.time, seen.newest)
	}
	return n
}

// mayBeLate reports whether only segments can tell that an entry is too late.
// That is rare: they have nothing that is newer by LateWindow, unless somebody
// appends old lines, or is ahead of the clock.
func (c *checker) mayBeLate(e *Entry, n *newestEntry) bool {
	window := int64(c.o.LateWindow)
	if window < 0 || e.Time < 0 || e.Time >= math.MaxInt64-window || n.time-e.Time > window {
		return false
	}
	return n.above > e.Time+window && c.catalog.MaxTime() > e.Time+window
}

// readNewest looks for the newest entry of a stream in segments that have entries
// for which e is too late. An entry is kept if they cannot be read.
func (c *checker) readNewest(ctx context.Context, l Labels, e *Entry, st *stream, n *newestEntry) {
	segs := c.catalog.Snapshot()
	if segs == nil {
		return // closed
	}
	defer segs.Release()
	above := e.Time + int64(c.o.LateWindow)
	newest, ok, err := segs.Newest(ctx, c.tenant, l.enc, above)
	if err != nil {
		return
	}
	if !ok {
		newest = noTime
	}
	n.time, n.above = max(n.time, newest), above
	// Not for a stream that is created meanwhile: it may have been in memory and
	// left it again.
	if st != nil {
		st.learned(newest, above)
	}
}
