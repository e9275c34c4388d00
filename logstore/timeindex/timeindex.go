// Package timeindex finds which segments have entries of a stream in a range
// of time.
//
// A Tree is a B+ tree over (stream, time of the first entry). Beside each child
// a node keeps the lowest and highest time below it, as an interval tree does
// (Cormen et al., Introduction to Algorithms, 17.3). So a lookup visits only
// nodes that may have matching items, although late entries make segments
// overlap; one segment with a very old entry does not make lookups slow.
//
// Trees are persistent: a change copies the nodes on its path and shares all
// others (Driscoll et al., Making Data Structures Persistent, 1989). Readers
// take no lock, and the tree that they hold does not change.
//
// The package knows nothing of files and is used alone. Package logstore does not use
// it: of each segment it keeps in memory what rules it out for a query.
//
// # Mistakes to avoid
//
//   - Dropping the result of With: the tree it is called on does not change.
//   - One With for each item. It copies the way down for each call; give it many.
//   - Taking an item for entries. It says that the segment may have some in the range:
//     its own Min and Max lie around a gap as well.
package timeindex

import (
	"cmp"
	"iter"
	"math"
	"sort"
)

// An Item describes the entries of one stream in one segment.
type Item struct {
	Stream   uint32 // the stream's number
	Ordinal  uint32 // the stream's place in the segment
	Segment  uint64 // id of the segment
	Min, Max int64  // times of its first and last entry
	Rows     int64  // entries
	Raw      int64  // bytes of them
}

// A Tree is an ordered set of items, by (Stream, Min, Segment). It is
// immutable: With returns another tree that shares unchanged nodes, so many
// goroutines may read a Tree while others make the next. The zero value is
// empty.
type Tree struct {
	root child
	len  int
}

// Len returns the number of items.
func (t *Tree) Len() int { return t.len }

// Overlapping ranges over the items of a stream with Min < to and Max >= from,
// those that may have entries in [from, to), by Min.
func (t *Tree) Overlapping(stream uint32, from, to int64) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		if t.root.node != nil {
			overlapping(t.root.node, stream, from, to, yield)
		}
	}
}

// All ranges over the items of all streams with Min < to and Max >= from, by
// stream and Min.
func (t *Tree) All(from, to int64) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		if t.root.node != nil {
			all(t.root.node, from, to, yield)
		}
	}
}

// Newest returns the highest Max of a stream, and false if it has no item.
func (t *Tree) Newest(stream uint32) (int64, bool) {
	if t.root.node == nil {
		return 0, false
	}
	return newest(t.root.node, stream, math.MinInt64, false)
}

// A key is the sort key of an item.
type key struct {
	stream  uint32
	min     int64
	segment uint64
}

func (i *Item) key() key { return key{i.Stream, i.Min, i.Segment} }

func (k key) compare(o key) int {
	if k.stream != o.stream {
		return cmp.Compare(k.stream, o.stream)
	}
	if k.min != o.min {
		return cmp.Compare(k.min, o.min)
	}
	return cmp.Compare(k.segment, o.segment)
}

// A node is a leaf, with items, or has children: at least one, at most
// capacity. It is immutable.
type node struct {
	items []Item
	kids  []child
}

// A child is a node with its bounds, so that a lookup need not read the nodes
// that it skips.
type child struct {
	first  key   // of the first item below
	lo, hi int64 // lowest Min and highest Max below
	node   *node
}

// search returns the index of the first item at or after k; items are sorted.
func search(items []Item, k key) int {
	return sort.Search(len(items), func(i int) bool { return items[i].key().compare(k) >= 0 })
}

// after returns the index of the first child that may have an item at or after
// k.
func after(kids []child, k key) int {
	return max(0, sort.Search(len(kids), func(i int) bool { return kids[i].first.compare(k) > 0 })-1)
}

func begin(stream uint32) key { return key{stream: stream, min: math.MinInt64} }

func overlapping(n *node, stream uint32, from, to int64, yield func(Item) bool) bool {
	if n.kids == nil {
		for i := search(n.items, begin(stream)); i < len(n.items); i++ {
			it := &n.items[i]
			if it.Stream != stream || it.Min >= to {
				return false
			}
			if it.Max >= from && !yield(*it) {
				return false
			}
		}
		return true
	}
	for i := after(n.kids, begin(stream)); i < len(n.kids); i++ {
		c := &n.kids[i]
		if c.first.stream > stream || c.first.stream == stream && c.first.min >= to {
			return false
		}
		if c.hi >= from && c.lo < to && !overlapping(c.node, stream, from, to, yield) {
			return false
		}
	}
	return true
}

func all(n *node, from, to int64, yield func(Item) bool) bool {
	for i := range n.items {
		if it := &n.items[i]; it.Max >= from && it.Min < to && !yield(*it) {
			return false
		}
	}
	for i := range n.kids {
		if c := &n.kids[i]; c.hi >= from && c.lo < to && !all(c.node, from, to, yield) {
			return false
		}
	}
	return true
}

// newest returns the higher of best and the stream's highest Max below n. It
// searches from the right, where the newest usually is, and skips nodes without
// a newer item.
func newest(n *node, stream uint32, best int64, found bool) (int64, bool) {
	for i := len(n.items) - 1; i >= 0; i-- {
		if it := &n.items[i]; it.Stream == stream {
			best, found = max(best, it.Max), true
		}
	}
	if n.kids == nil {
		return best, found
	}
	first := after(n.kids, begin(stream))
	for i := len(n.kids) - 1; i >= first; i-- {
		c := &n.kids[i]
		switch {
		case c.first.stream > stream, found && c.hi <= best:
		case c.first.stream == stream && i+1 < len(n.kids) && n.kids[i+1].first.stream == stream:
			// All below is of this stream.
			best, found = max(best, c.hi), true
		default:
			best, found = newest(c.node, stream, best, found)
		}
	}
	return best, found
}
