package metacache_test

import (
	"fmt"

	"github.com/stele-go/stele/suites/internal/metacache"
)

func Example() {
	// Decoded indexes of files, within 8 MiB.
	cache := metacache.New(8<<20, func(index []string) int { return 64 * len(index) })
	defer cache.Close()

	decode := func() ([]string, error) {
		fmt.Println("reading the file")
		return []string{"a", "b"}, nil
	}
	for range 3 {
		index, err := cache.Get(metacache.Key{Segment: 1}, 1, decode)
		fmt.Println(index, err)
	}
	fmt.Println(cache.Stats().Hits, "hits")
	// Output:
	// reading the file
	// [a b] <nil>
	// [a b] <nil>
	// [a b] <nil>
	// 2 hits
}
