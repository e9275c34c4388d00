package timeindex_test

import (
	"fmt"

	"github.com/stele-go/stele/logstore/timeindex"
)

func Example() {
	// Two files with entries of stream 7, one of stream 8; the second of stream
	// 7 has a late entry, so that they overlap.
	index := new(timeindex.Tree).With([]timeindex.Item{
		{Stream: 7, Segment: 1, Min: 100, Max: 199},
		{Stream: 7, Segment: 2, Min: 150, Max: 299},
		{Stream: 8, Segment: 2, Min: 210, Max: 250},
	}, nil)

	for item := range index.Overlapping(7, 180, 190) {
		fmt.Println("segment", item.Segment)
	}

	// Segments are compacted: readers of the old index keep using it.
	merged := index.With(
		[]timeindex.Item{{Stream: 7, Segment: 3, Min: 100, Max: 299}},
		[]timeindex.Item{{Stream: 7, Segment: 1, Min: 100}, {Stream: 7, Segment: 2, Min: 150}},
	)
	fmt.Println(index.Len(), merged.Len())
	fmt.Println(merged.Newest(7))
	// Output:
	// segment 1
	// segment 2
	// 3 2
	// 299 true
}
