package timeindex

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// A plain is an index that visits every item.
type plain map[key]Item

func (p plain) sorted(want func(Item) bool) (items []Item) {
	for _, i := range p {
		if want(i) {
			items = append(items, i)
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return a.key().compare(b.key()) })
	return items
}

func (p plain) newest(stream uint32) (best int64, found bool) {
	best = math.MinInt64
	for _, i := range p {
		if i.Stream == stream {
			best, found = max(best, i.Max), true
		}
	}
	return best, found
}

func randomItem(rnd *rand.Rand, streams uint32) Item {
	i := Item{Stream: rnd.Uint32N(streams), Segment: rnd.Uint64N(50), Min: rnd.Int64N(1000) - 500, Rows: rnd.Int64()}
	switch i.Max = i.Min + rnd.Int64N(10); rnd.IntN(50) {
	case 0:
		i.Max += 1000 // one that spans far
	case 1:
		i.Min, i.Max = math.MinInt64, math.MaxInt64
	}
	return i
}

// check compares a tree with the expected items, and checks its shape.
func check(t *testing.T, seed uint64, tree *Tree, want plain, rnd *rand.Rand, streams uint32) {
	t.Helper()
	if tree.Len() != len(want) {
		t.Fatalf("seed %d: Len is %d, want %d", seed, tree.Len(), len(want))
	}
	if tree.root.node != nil {
		checkShape(t, seed, tree.root, true)
	}
	for range 10 {
		from := rnd.Int64N(1100) - 550
		to := from + rnd.Int64N(100)
		if rnd.IntN(10) == 0 {
			from, to = math.MinInt64, math.MaxInt64
		}
		stream := rnd.Uint32N(streams + 1)
		in := func(i Item) bool { return i.Min < to && i.Max >= from }
		got := slices.Collect(tree.Overlapping(stream, from, to))
		if expect := want.sorted(func(i Item) bool { return i.Stream == stream && in(i) }); !slices.Equal(got, expect) {
			t.Fatalf("seed %d: Overlapping(%d, %d, %d):\n%v, want\n%v", seed, stream, from, to, got, expect)
		}
		if got, expect := slices.Collect(tree.All(from, to)), want.sorted(in); !slices.Equal(got, expect) {
			t.Fatalf("seed %d: All(%d, %d) has %d items, want %d", seed, from, to, len(got), len(expect))
		}
		best, found := tree.Newest(stream)
		if expect, has := want.newest(stream); found != has || has && best != expect {
			t.Fatalf("seed %d: Newest(%d) = %d, %v, want %d, %v", seed, stream, best, found, expect, has)
		}
	}
}

// checkShape returns the height.
func checkShape(t *testing.T, seed uint64, c child, root bool) int {
	t.Helper()
	n := c.node
	if n.size() == 0 || n.size() > capacity || len(n.items) > 0 && len(n.kids) > 0 {
		t.Fatalf("seed %d: a node of %d items and %d children", seed, len(n.items), len(n.kids))
	}
	if len(n.items) > 0 {
		l := leafOf(n.items)
		if l.first != c.first || l.lo != c.lo || l.hi != c.hi {
			t.Fatalf("seed %d: a leaf is not what its parent says", seed)
		}
		return 0
	}
	p := parent(n.kids)
	if p.first != c.first || p.lo != c.lo || p.hi != c.hi {
		t.Fatalf("seed %d: a node is not what its parent says", seed)
	}
	height := -1
	for _, k := range n.kids {
		h := checkShape(t, seed, k, false)
		if height >= 0 && h != height {
			t.Fatalf("seed %d: leaves at two depths", seed)
		}
		height = h
		if len(n.kids) > 1 && k.node.size() < sparse {
			t.Fatalf("seed %d: a node of %d beside others", seed, k.node.size())
		}
	}
	if root && len(n.kids) < 2 {
		t.Fatalf("seed %d: a root of one child", seed)
	}
	return height + 1
}

func TestAgainstPlain(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		streams := []uint32{1, 5, 300}[seed%3]
		tree, want := new(Tree), plain{}
		check(t, seed, tree, want, rnd, streams)
		for range 25 {
			var added, removed []Item
			for range rnd.IntN([]int{1, 20, 400}[rnd.IntN(3)] + 1) {
				i := randomItem(rnd, streams)
				added = append(added, i)
				if rnd.IntN(10) == 0 { // twice: the later counts
					i.Rows++
					added = append(added, i)
				}
			}
			share := rnd.IntN(10)
			for _, i := range want {
				if rnd.IntN(10) < share {
					removed = append(removed, Item{Stream: i.Stream, Min: i.Min, Segment: i.Segment})
				}
			}
			removed = append(removed, randomItem(rnd, streams)) // most likely not there
			if len(added) > 0 {
				removed = append(removed, added[0]) // replaced, not removed
			}
			for _, i := range removed {
				delete(want, i.key())
			}
			for _, i := range added {
				want[i.key()] = i
			}
			before := slices.Clone(added)
			tree = tree.With(added, removed)
			if !slices.Equal(before, added) {
				t.Fatalf("seed %d: With has changed its arguments", seed)
			}
			check(t, seed, tree, want, rnd, streams)
		}
		var rest []Item
		for _, i := range want {
			rest = append(rest, i)
		}
		if tree = tree.With(nil, rest); tree.Len() != 0 || tree.root.node != nil {
			t.Fatalf("seed %d: %d items are left of an emptied tree", seed, tree.Len())
		}
	}
}

// Readers of a tree see its items, whatever trees are made from it meanwhile.
func TestIsolation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	tree := new(Tree)
	var wg sync.WaitGroup
	for range 40 {
		var added []Item
		for range 200 {
			added = append(added, randomItem(rnd, 50))
		}
		old, was := tree, slices.Collect(tree.All(math.MinInt64, math.MaxInt64))
		for r := range 2 {
			wg.Go(func() {
				for range 20 {
					if r == 0 {
						if got := slices.Collect(old.All(math.MinInt64, math.MaxInt64)); !slices.Equal(got, was) {
							t.Error("a tree has changed")
						}
						continue
					}
					n := 0
					for s := range uint32(50) {
						for range old.Overlapping(s, math.MinInt64, math.MaxInt64) {
							n++
						}
					}
					if n != len(was) {
						t.Errorf("%d items in all streams, %d in the tree", n, len(was))
					}
				}
			})
		}
		tree = tree.With(added, was[:len(was)/3])
	}
	wg.Wait()
}

// Unchanged nodes are shared.
func TestSharing(t *testing.T) {
	var items []Item
	for s := range uint32(400) {
		for seg := range uint64(100) {
			items = append(items, Item{Stream: s, Segment: seg, Min: int64(seg), Max: int64(seg)})
		}
	}
	a := new(Tree).With(items, nil)
	b := a.With([]Item{{Stream: 7, Segment: 1000, Min: 1000, Max: 1000}}, nil)
	leaves := func(tree *Tree) map[*node]bool {
		all := map[*node]bool{}
		var walk func(*node)
		walk = func(n *node) {
			all[n] = true
			for _, k := range n.kids {
				walk(k.node)
			}
		}
		walk(tree.root.node)
		return all
	}
	had, fresh := leaves(a), 0
	for n := range leaves(b) {
		if !had[n] {
			fresh++
		}
	}
	if fresh > 6 {
		t.Errorf("one item more made %d of %d nodes new", fresh, len(had))
	}
	if c := b.With(nil, []Item{{Stream: 7, Segment: 99_999, Min: 5}}); c.root.node != b.root.node {
		t.Error("removing what is not there has made another root")
	}
}

// One item that spans all time does not make a lookup visit every node.
func TestLateItemSkipsNodes(t *testing.T) {
	var items []Item
	for seg := range uint64(100_000) {
		items = append(items, Item{Stream: 1, Segment: seg, Min: int64(seg) * 10, Max: int64(seg)*10 + 9})
	}
	items = append(items, Item{Stream: 1, Segment: 1 << 40, Min: 5, Max: 1 << 40})
	tree := new(Tree).With(items, nil)
	visited := 0
	var visit func(n *node, from, to int64)
	visit = func(n *node, from, to int64) {
		visited++
		for _, c := range n.kids {
			if c.hi >= from && c.lo < to {
				visit(c.node, from, to)
			}
		}
	}
	visit(tree.root.node, 500_000, 500_001)
	if visited > 12 {
		t.Errorf("%d nodes may have what was asked for", visited)
	}
	got := slices.Collect(tree.Overlapping(1, 500_000, 500_001))
	if len(got) != 2 || got[0].Min != 5 || got[1].Min != 500_000 {
		t.Errorf("found %v", got)
	}
}

func TestLookupAllocates(t *testing.T) {
	tree := new(Tree).With(series(100, 50), nil)
	var rows int64
	if n := testing.AllocsPerRun(100, func() {
		for i := range tree.Overlapping(7, 100, 900) {
			rows += i.Rows
		}
		for i := range tree.All(0, 900) {
			rows += i.Rows
		}
		tree.Newest(7)
	}); n != 0 {
		t.Errorf("%v allocations for lookups", n)
	}
}

// series returns items of consecutive segments, each with all streams.
func series(streams, segments int) (items []Item) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for seg := range segments {
		for s := range streams {
			from := int64(seg)*100 - rnd.Int64N(10)
			items = append(items, Item{
				Stream: uint32(s), Ordinal: uint32(s), Segment: uint64(seg),
				Min: from, Max: from + 100 + rnd.Int64N(10), Rows: 50, Raw: 7000,
			})
		}
	}
	return items
}

func TestOrderOfKeys(t *testing.T) {
	keys := []key{
		{0, math.MinInt64, 0}, {0, -1, 9}, {0, 0, 1}, {0, 0, 2}, {0, math.MaxInt64, 0},
		{1, math.MinInt64, 0}, {math.MaxUint32, 0, math.MaxUint64},
	}
	for i, a := range keys {
		for j, b := range keys {
			if got := a.compare(b); got != cmp.Compare(i, j) {
				t.Errorf("%v against %v: %d", a, b, got)
			}
		}
	}
}
