package catalog

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A version is the segments of one moment. It is immutable.
type version struct {
	number uint64  // one more than that of the version before
	order  []*file // by position; they do not overlap
	byID   []*file
	byTime []*file // by the time of the newest entry, the newest one first
	totals totals

	// refs counts the snapshots, and the catalog for the current version. At 0
	// no snapshot can take it any more.
	refs refCount
}

// totals are those of the files of a version.
type totals struct {
	bytes, rows, raw, blocks int64
	streams                  int64 // each counted in each file
	mostStreams              int   // of one file
}

// apply returns the version after v, with some files added and others removed.
func (v *version) apply(added []*file, removed map[*file]bool) *version {
	n := &version{
		number: v.number + 1,
		order:  change(v.order, added, removed, func(a, b *file) int { return cmp.Compare(a.positions.after, b.positions.after) }),
		byID:   change(v.byID, added, removed, func(a, b *file) int { return cmp.Compare(a.id, b.id) }),
		byTime: change(v.byTime, added, removed, func(a, b *file) int { return cmp.Compare(b.info.MaxTime, a.info.MaxTime) }),
	}
	n.refs.Store(1)
	t := &n.totals
	for _, f := range n.order {
		t.bytes += f.info.Size
		t.rows += f.info.Rows
		t.raw += f.info.Raw
		t.blocks += int64(f.info.Blocks)
		t.streams += int64(f.info.Streams)
		t.mostStreams = max(t.mostStreams, f.info.Streams)
	}
	return n
}

// change returns a sorted list with some files added and others removed.
func change(list, added []*file, removed map[*file]bool, compare func(a, b *file) int) []*file {
	next := make([]*file, 0, len(list)+len(added))
	for _, f := range list {
		if !removed[f] {
			next = append(next, f)
		}
	}
	next = append(next, added...)
	slices.SortStableFunc(next, compare)
	return next
}

// file returns the file with an id, or nil.
func (v *version) file(id uint64) *file {
	i, ok := slices.BinarySearchFunc(v.byID, id, func(f *file, id uint64) int { return cmp.Compare(f.id, id) })
	if !ok {
		return nil
	}
	return v.byID[i]
}

// A Snapshot is the segments of one moment, each entry in one of them. They
// stay readable until it is released, whatever is compacted or deleted
// meanwhile. Many goroutines may use it at once.
type Snapshot struct {
	v          *version
	catalog    *Catalog
	unreadable []*file // see WholeSnapshot
}

// Snapshot returns the current segments. It takes no lock, and returns nil once
// the catalog is closed. The caller releases it.
func (c *Catalog) Snapshot() *Snapshot {
	for {
		v := c.current.Load()
		if v == nil {
			return nil
		}
		if v.refs.tryAdd() {
			return &Snapshot{v: v, catalog: c}
		}
	}
}

// WholeSnapshot is Snapshot for CopyTo: it has the segments too that are not served
// until they are salvaged.
func (c *Catalog) WholeSnapshot() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.Snapshot()
	if n != nil {
		n.unreadable = c.unreadable
	}
	return n
}

// Release releases the snapshot. It is called once, after all other calls.
func (n *Snapshot) Release() { n.catalog.unref(n.v) }

func (c *Catalog) unref(v *version) {
	if v.refs.Add(-1) == 0 && c.ending.Load() {
		c.closeReleased()
	}
}

// MaxTime returns the time of the newest entry of all current segments, and
// math.MinInt64 if there are none.
func (c *Catalog) MaxTime() int64 {
	if v := c.current.Load(); v != nil && len(v.byTime) > 0 {
		return v.byTime[0].info.MaxTime
	}
	return math.MinInt64
}

// Path returns the path of the segment's file, "" if it is not in the snapshot.
func (n *Snapshot) Path(segment uint64) string {
	if f := n.v.file(segment); f != nil {
		return n.catalog.path(f)
	}
	return ""
}

// noteError records what the error of a read says about the file.
func (c *Catalog) noteError(f *file, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*segment2.CorruptError](err); ok {
		if f.damage.CompareAndSwap(nil, bad) {
			c.counters.damaged.Add(1)
			c.tellDamage(f, bad)
		}
	} else {
		c.counters.readErrors.Add(1)
	}
	return err
}
