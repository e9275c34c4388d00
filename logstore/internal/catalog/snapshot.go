package catalog

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/timeindex"
)

// A version is the segments of one moment. It is immutable.
type version struct {
	number uint64 // one more than that of the version before
	index  *timeindex.Tree
	byID   map[uint64]*file
	order  []*file // by position; they do not overlap
	bytes  int64   // of the files
	rows   int64
	raw    int64
	blocks int64

	// refs counts the snapshots, and the catalog for the current version. At 0
	// no snapshot can take it any more.
	refs refCount
}

// apply returns the version after v, with some files added and others removed.
func (v *version) apply(added, removed []*file, items, dropped []timeindex.Item) *version {
	n := &version{
		number: v.number + 1,
		index:  v.index.With(items, dropped),
		byID:   make(map[uint64]*file, len(v.byID)+len(added)),
		order:  make([]*file, 0, len(v.order)+len(added)),
	}
	n.refs.Store(1)
	for _, f := range v.order {
		if !slices.Contains(removed, f) {
			n.order = append(n.order, f)
		}
	}
	n.order = append(n.order, added...)
	slices.SortFunc(n.order, func(a, b *file) int { return cmp.Compare(a.positions.after, b.positions.after) })
	for _, f := range n.order {
		n.byID[f.id] = f
		n.bytes += f.info.Size
		n.rows += f.info.Rows
		n.raw += f.info.Raw
		n.blocks += int64(f.info.Blocks)
	}
	return n
}

// itemsOf returns the items of the index of the files.
func (v *version) itemsOf(files []*file) []timeindex.Item {
	if len(files) == 0 {
		return nil
	}
	from, to, n := int64(math.MaxInt64), int64(math.MinInt64), 0
	of := make(map[uint64]bool, len(files))
	for _, f := range files {
		from, to = min(from, f.info.MinTime), max(to, f.info.MaxTime)
		of[f.id] = true
		n += f.info.Streams
	}
	items := make([]timeindex.Item, 0, n)
	for it := range v.index.All(from, endAfter(to)) {
		if of[it.Segment] {
			items = append(items, it)
		}
	}
	return items
}

// endAfter returns the end, not included, of a range that includes t, if there
// is one: see loadIndex.
func endAfter(t int64) int64 {
	if t == math.MaxInt64 {
		return t
	}
	return t + 1
}

// A Snapshot is the segments of one moment, each entry in one of them. They
// stay readable until it is released, whatever is compacted or deleted
// meanwhile. Many goroutines may use it at once.
type Snapshot struct {
	Index *timeindex.Tree

	v       *version
	catalog *Catalog
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
			return &Snapshot{Index: v.index, v: v, catalog: c}
		}
	}
}

// Release releases the snapshot. It is called once, after all other calls.
func (n *Snapshot) Release() { n.catalog.unref(n.v) }

func (c *Catalog) unref(v *version) {
	if v.refs.Add(-1) == 0 && c.ending.Load() {
		c.closeReleased()
	}
}

// Path returns the path of the segment's file, "" if it is not in the snapshot.
func (n *Snapshot) Path(segment uint64) string {
	if f := n.v.byID[segment]; f != nil {
		return n.catalog.path(f)
	}
	return ""
}

// noteError records what the error of a read says about the file.
func (c *Catalog) noteError(f *file, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*segment.CorruptError](err); ok {
		if f.damage.CompareAndSwap(nil, bad) {
			c.counters.damaged.Add(1)
			c.tellDamage(f, bad)
		}
	} else {
		c.counters.readErrors.Add(1)
	}
	return err
}
