package timeindex

import "slices"

const (
	// capacity is the most items or children of a node. A change copies a node
	// for each stream that it touches; larger nodes would not make lookups
	// faster.
	capacity = 32
	// fill is the size of new nodes, so that they can grow before they are
	// split; nodes smaller than sparse are joined with a neighbour.
	fill   = capacity * 3 / 4
	sparse = capacity / 4
)

// With returns a tree without the removed items and with the added ones.
// Stream, Min and Segment identify an item: unknown removed items are ignored,
// an added item replaces an existing one, and of equal added items the last
// counts. With takes time in proportion to the nodes that change. It does not
// retain its arguments.
func (t *Tree) With(added, removed []Item) *Tree {
	e := edit{len: t.len}
	added, removed = inOrder(added), inOrder(removed)
	var level []child
	if t.root.node != nil {
		level = e.apply(level, t.root, added, removed, 0)
	} else {
		level = e.leaf(level, nil, added, nil)
	}
	for len(level) > 1 {
		level = split(nil, level, parent)
	}
	if len(level) == 0 {
		return &Tree{}
	}
	root := level[0]
	for len(root.node.kids) == 1 {
		root = root.node.kids[0]
	}
	return &Tree{root: root, len: e.len}
}

// inOrder returns items sorted, stably.
func inOrder(items []Item) []Item {
	byKey := func(a, b Item) int { return a.key().compare(b.key()) }
	if slices.IsSortedFunc(items, byKey) {
		return items
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, byKey)
	return items
}

// An edit is one call of With.
type edit struct {
	len     int
	changes int // leaves that are not what they were
	// Used again: the items of leaf, and the children of apply by depth.
	merged []Item
	kids   [][]child
}

// apply appends the replacement of c to out: no node, one or more, of the same
// height.
func (e *edit) apply(out []child, c child, added, removed []Item, depth int) []child {
	if len(added) == 0 && len(removed) == 0 {
		return append(out, c)
	}
	n := c.node
	if n.kids == nil {
		return e.leaf(out, &c, added, removed)
	}
	if len(e.kids) == depth {
		e.kids = append(e.kids, nil)
	}
	kids, before := e.kids[depth][:0], e.changes
	for i := range n.kids {
		if len(added) == 0 && len(removed) == 0 {
			kids = append(kids, n.kids[i:]...)
			break
		}
		a, r := added, removed
		if i+1 < len(n.kids) {
			next := n.kids[i+1].first
			a, added = cut(added, next)
			r, removed = cut(removed, next)
		}
		kids = e.apply(kids, n.kids[i], a, r, depth+1)
	}
	e.kids[depth] = kids
	if e.changes == before {
		return append(out, c)
	}
	return split(out, joinSparse(kids), parent)
}

// joinSparse joins sparse nodes with a neighbour, in place.
func joinSparse(nodes []child) []child {
	out := nodes[:0]
	for _, c := range nodes {
		if last := len(out) - 1; last >= 0 && min(out[last].node.size(), c.node.size()) < sparse {
			out = append(out[:last], join(out[last], c)...)
		} else {
			out = append(out, c)
		}
	}
	return out
}

// cut cuts sorted items before the first one at or after k.
func cut(items []Item, k key) (before, rest []Item) {
	i := search(items, k)
	return items[:i], items[i:]
}

// leaf merges the items of a leaf, nil for none, with those added.
func (e *edit) leaf(out []child, c *child, added, removed []Item) []child {
	var items []Item
	if c != nil {
		items = c.node.items
	}
	had, changed := len(items), false
	m := slices.Grow(e.merged[:0], had+len(added))
	for len(added)+len(removed) > 0 {
		k := lowest(added, removed)
		before, rest := cut(items, k)
		m = append(m, before...)
		if items = rest; len(items) > 0 && items[0].key() == k {
			items = items[1:]
			changed = true
		}
		for len(removed) > 0 && removed[0].key() == k {
			removed = removed[1:]
		}
		for len(added) > 0 && added[0].key() == k {
			// Of items with the same key the last one stays.
			if len(added) == 1 || added[1].key() != k {
				m = append(m, added[0])
				changed = true
			}
			added = added[1:]
		}
	}
	m = append(m, items...)
	e.merged = m
	e.len += len(m) - had
	if c != nil && !changed {
		return append(out, *c)
	}
	e.changes++
	return split(out, m, leafOf)
}

func lowest(added, removed []Item) key {
	if len(removed) == 0 || len(added) > 0 && added[0].key().compare(removed[0].key()) <= 0 {
		return added[0].key()
	}
	return removed[0].key()
}

func (n *node) size() int { return len(n.items) + len(n.kids) }

// join makes one or two nodes of two neighbours.
func join(a, b child) []child {
	if a.node.kids == nil {
		return split(nil, slices.Concat(a.node.items, b.node.items), leafOf)
	}
	return split(nil, slices.Concat(a.node.kids, b.node.kids), parent)
}

// split makes nodes of parts, one if they fit. Each has its own memory, so that
// a node in use does not hold that of another.
func split[T any](out []child, parts []T, build func([]T) child) []child {
	n := 1
	if len(parts) > capacity {
		n = (len(parts) + fill - 1) / fill
	}
	for ; n > 0; n-- {
		size := (len(parts) + n - 1) / n
		if size == 0 {
			break
		}
		out = append(out, build(slices.Clone(parts[:size])))
		parts = parts[size:]
	}
	return out
}

func leafOf(items []Item) child {
	c := child{first: items[0].key(), lo: items[0].Min, hi: items[0].Max, node: &node{items: items}}
	for i := range items {
		c.lo, c.hi = min(c.lo, items[i].Min), max(c.hi, items[i].Max)
	}
	return c
}

func parent(kids []child) child {
	c := child{first: kids[0].first, lo: kids[0].lo, hi: kids[0].hi, node: &node{kids: kids}}
	for i := range kids {
		c.lo, c.hi = min(c.lo, kids[i].lo), max(c.hi, kids[i].hi)
	}
	return c
}
