package timeindex

import (
	"fmt"
	"runtime"
	"testing"
)

const streams = 400

// bySegment returns items segment by segment, as Open reads them: streams are
// numbered by their first segment, and ordered by labels in each.
func bySegment(segments int) []Item { return series(streams, segments) }

func BenchmarkBuild(b *testing.B) {
	items := bySegment(1000)
	for _, sorted := range []bool{false, true} {
		if sorted {
			items = inOrder(items)
		}
		b.Run(fmt.Sprintf("items=%d/sorted=%v", len(items), sorted), func(b *testing.B) {
			for b.Loop() {
				new(Tree).With(items, nil)
			}
		})
	}
}

func BenchmarkMemory(b *testing.B) {
	items := bySegment(1000)
	for b.Loop() {
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tree := new(Tree).With(items, nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(tree)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(items)), "B/item")
}

// Adding the items of one segment, of all streams, to those of 1,000 segments.
func BenchmarkAddSegment(b *testing.B) {
	items := bySegment(1001)
	old, added := items[:1000*streams], items[1000*streams:]
	tree := new(Tree).With(old, nil)
	for b.Loop() {
		tree.With(added, nil)
	}
}

func BenchmarkOverlapping(b *testing.B) {
	items := bySegment(1000)
	for _, late := range []bool{false, true} {
		if late {
			// One item of every stream with a line from the very beginning.
			for s := range streams {
				items = append(items, Item{Stream: uint32(s), Segment: 5000, Min: 0, Max: 90_000})
			}
		}
		tree := new(Tree).With(items, nil)
		b.Run(fmt.Sprintf("late=%v", late), func(b *testing.B) {
			i, n := 0, 0
			for b.Loop() {
				from := int64(i%900) * 100
				for range tree.Overlapping(uint32(i%streams), from, from+500) {
					n++
				}
				i += 7
			}
			if n == 0 {
				b.Error("nothing found")
			}
		})
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
