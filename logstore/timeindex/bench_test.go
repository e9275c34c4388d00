package timeindex

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/btree"
)

// The alternative is tidwall/btree, which copies on write as well. It knows no
// highest time, so a lookup begins where the longest item could still reach
// into the range: one item that spans far makes every lookup a scan.
type alternative struct {
	tree    *btree.BTreeG[Item]
	longest int64
}

func newAlternative() alternative {
	less := func(a, b Item) bool { return a.key().compare(b.key()) < 0 }
	return alternative{tree: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

func (a alternative) with(added []Item) alternative {
	next := alternative{a.tree.Copy(), a.longest}
	var hint btree.PathHint
	for _, i := range added {
		next.tree.SetHint(i, &hint)
		next.longest = max(next.longest, i.Max-i.Min)
	}
	return next
}

func (a alternative) overlapping(stream uint32, from, to int64, yield func(Item) bool) {
	a.tree.Ascend(Item{Stream: stream, Min: from - a.longest}, func(i Item) bool {
		if i.Stream != stream || i.Min >= to {
			return false
		}
		return i.Max < from || yield(i)
	})
}

const streams = 400

// bySegment is items segment by segment, as they are read at start: streams are
// numbered by their first segment and stand in each by their labels.
func bySegment(segments int) []Item { return series(streams, segments) }

// beside runs both by turns, so that what else the machine does meets both, and
// reports the medians of n operations each.
func beside(b *testing.B, n int, ours, theirs func()) {
	var times [2][]float64
	for b.Loop() {
		for i, f := range []func(){ours, theirs} {
			begin := time.Now()
			f()
			times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/float64(n))
		}
	}
	for i, unit := range []string{"ns-ours", "ns-tidwall"} {
		slices.Sort(times[i])
		b.ReportMetric(times[i][len(times[i])/2], unit)
	}
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}

func BenchmarkBuild(b *testing.B) {
	items := bySegment(1000)
	for _, sorted := range []bool{false, true} {
		if sorted {
			items = inOrder(items)
		}
		b.Run(fmt.Sprintf("items=%d/sorted=%v", len(items), sorted), func(b *testing.B) {
			beside(b, 1, func() { new(Tree).With(items, nil) }, func() { newAlternative().with(items) })
		})
	}
}

func heap(f func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc - before.HeapAlloc)
}

func BenchmarkMemory(b *testing.B) {
	items := bySegment(1000)
	for b.Loop() {
	}
	b.ReportMetric(heap(func() any { return new(Tree).With(items, nil) })/float64(len(items)), "B/item-ours")
	b.ReportMetric(heap(func() any { return newAlternative().with(items) })/float64(len(items)), "B/item-tidwall")
}

// Adding the items of one segment, of all streams, to those of 1,000.
func BenchmarkAddSegment(b *testing.B) {
	items := bySegment(1001)
	old, added := items[:1000*streams], items[1000*streams:]
	ours, theirs := new(Tree).With(old, nil), newAlternative().with(old)
	beside(b, 1, func() { ours.With(added, nil) }, func() { theirs.with(added) })
}

func BenchmarkOverlapping(b *testing.B) {
	items := bySegment(1000)
	for _, late := range []bool{false, true} {
		if late {
			// Of every stream one item with a line of the very beginning.
			for s := range streams {
				items = append(items, Item{Stream: uint32(s), Segment: 5000, Min: 0, Max: 90_000})
			}
		}
		ours, theirs := new(Tree).With(items, nil), newAlternative().with(items)
		const n = 100
		var found [2]int
		lookups := func(find func(stream uint32, from, to int64)) func() {
			i := 0
			return func() {
				for range n {
					find(uint32(i%streams), int64(i%900)*100, int64(i%900)*100+500)
					i += 7
				}
			}
		}
		b.Run(fmt.Sprintf("late=%v", late), func(b *testing.B) {
			beside(b, n, lookups(func(stream uint32, from, to int64) {
				for range ours.Overlapping(stream, from, to) {
					found[0]++
				}
			}), lookups(func(stream uint32, from, to int64) {
				theirs.overlapping(stream, from, to, func(Item) bool { found[1]++; return true })
			}))
		})
		if found[0] != found[1] || found[0] == 0 {
			b.Errorf("found %d and %d items", found[0], found[1])
		}
	}
}

func BenchmarkNewest(b *testing.B) {
	tree := new(Tree).With(bySegment(1000), nil)
	i := 0
	for b.Loop() {
		tree.Newest(uint32(i % streams))
		i += 7
	}
}

func BenchmarkAll(b *testing.B) {
	tree := new(Tree).With(bySegment(1000), nil)
	n := 0
	for b.Loop() {
		n = 0
		for range tree.All(90_000, 90_500) {
			n++
		}
	}
	b.ReportMetric(float64(n), "items")
}

// The alternative finds the same, or the benchmarks compare nothing.
func TestAlternativeAgrees(t *testing.T) {
	items := bySegment(50)
	ours, theirs := new(Tree).With(items, nil), newAlternative().with(items)
	for s := range uint32(streams) {
		from := int64(s) * 12
		var got []Item
		theirs.overlapping(s, from, from+300, func(i Item) bool { got = append(got, i); return true })
		if want := slices.Collect(ours.Overlapping(s, from, from+300)); !slices.Equal(got, want) || len(got) == 0 {
			t.Fatalf("stream %d: %v, ours %v", s, got, want)
		}
	}
}
