package peers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/btree"

	"github.com/stele-go/stele/logstore/timeindex"
)

// A plainIndex is a timeindex.Tree made of tidwall/btree, which copies on write as well.
// It has no highest times, so a lookup begins where the longest item could still reach
// into the range: one long item makes every lookup a scan.
type plainIndex struct {
	tree    *btree.BTreeG[timeindex.Item]
	longest int64
}

func newPlainIndex() plainIndex {
	less := func(a, b timeindex.Item) bool { return byPosition(a, b) < 0 }
	return plainIndex{tree: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

func (a plainIndex) with(added []timeindex.Item) plainIndex {
	next := plainIndex{a.tree.Copy(), a.longest}
	var hint btree.PathHint
	for _, i := range added {
		next.tree.SetHint(i, &hint)
		next.longest = max(next.longest, i.Max-i.Min)
	}
	return next
}

func (a plainIndex) overlapping(stream uint32, from, to int64, yield func(timeindex.Item) bool) {
	a.tree.Ascend(timeindex.Item{Stream: stream, Min: from - a.longest}, func(i timeindex.Item) bool {
		if i.Stream != stream || i.Min >= to {
			return false
		}
		return i.Max < from || yield(i)
	})
}

const indexStreams = 400

// bySegment returns items segment by segment, as Open reads them.
func bySegment(segments int) (items []timeindex.Item) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for seg := range segments {
		for s := range indexStreams {
			from := int64(seg)*100 - rnd.Int64N(10)
			items = append(items, timeindex.Item{
				Stream: uint32(s), Ordinal: uint32(s), Segment: uint64(seg),
				Min: from, Max: from + 100 + rnd.Int64N(10), Rows: 50, Raw: 7000,
			})
		}
	}
	return items
}

func byPosition(a, b timeindex.Item) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Min, b.Min), cmp.Compare(a.Segment, b.Segment))
}

// beside runs both in turn, so that other load on the machine affects both, and reports
// the medians of n operations each.
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

func BenchmarkTimeIndexBuild(b *testing.B) {
	items := bySegment(1000)
	for _, sorted := range []bool{false, true} {
		if sorted {
			items = slices.SortedStableFunc(slices.Values(items), byPosition)
		}
		b.Run(fmt.Sprintf("items=%d/sorted=%v", len(items), sorted), func(b *testing.B) {
			beside(b, 1, func() { new(timeindex.Tree).With(items, nil) }, func() { newPlainIndex().with(items) })
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

func BenchmarkTimeIndexMemory(b *testing.B) {
	items := bySegment(1000)
	for b.Loop() {
	}
	b.ReportMetric(heap(func() any { return new(timeindex.Tree).With(items, nil) })/float64(len(items)), "B/item-ours")
	b.ReportMetric(heap(func() any { return newPlainIndex().with(items) })/float64(len(items)), "B/item-tidwall")
}

// Adding the items of one segment, of all indexStreams, to those of 1,000.
func BenchmarkTimeIndexAddSegment(b *testing.B) {
	items := bySegment(1001)
	old, added := items[:1000*indexStreams], items[1000*indexStreams:]
	ours, theirs := new(timeindex.Tree).With(old, nil), newPlainIndex().with(old)
	beside(b, 1, func() { ours.With(added, nil) }, func() { theirs.with(added) })
}

func BenchmarkTimeIndexOverlapping(b *testing.B) {
	items := bySegment(1000)
	for _, late := range []bool{false, true} {
		if late {
			// One item of every stream has a line from the very beginning.
			for s := range indexStreams {
				items = append(items, timeindex.Item{Stream: uint32(s), Segment: 5000, Min: 0, Max: 90_000})
			}
		}
		ours, theirs := new(timeindex.Tree).With(items, nil), newPlainIndex().with(items)
		const n = 100
		var found [2]int
		lookups := func(find func(stream uint32, from, to int64)) func() {
			i := 0
			return func() {
				for range n {
					find(uint32(i%indexStreams), int64(i%900)*100, int64(i%900)*100+500)
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
				theirs.overlapping(stream, from, to, func(timeindex.Item) bool { found[1]++; return true })
			}))
		})
		if found[0] != found[1] || found[0] == 0 {
			b.Errorf("found %d and %d items", found[0], found[1])
		}
	}
}

// The plain index finds the same, or the benchmarks compare nothing.
func TestTimeIndexAgrees(t *testing.T) {
	items := bySegment(50)
	ours, theirs := new(timeindex.Tree).With(items, nil), newPlainIndex().with(items)
	for s := range uint32(indexStreams) {
		from := int64(s) * 12
		var got []timeindex.Item
		theirs.overlapping(s, from, from+300, func(i timeindex.Item) bool { got = append(got, i); return true })
		if want := slices.Collect(ours.Overlapping(s, from, from+300)); !slices.Equal(got, want) || len(got) == 0 {
			t.Fatalf("stream %d: %v, ours %v", s, got, want)
		}
	}
}
