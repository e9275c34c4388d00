package fileio_test

import (
	"fmt"
	"os"

	"github.com/stele-go/stele/fileio"
)

// The statistics of a Reader: the order of reads, and the use of its readahead.
func ExampleReader_Stats() {
	name, remove := table()
	defer remove()
	if err := os.Truncate(name, 1<<20); err != nil {
		fmt.Println(err)
	}

	r, err := fileio.Open(name, fileio.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	b := make([]byte, 4096)
	for off := int64(1<<20 - 4096); off >= 0; off -= 4096 {
		if _, err := r.ReadAt(b, off); err != nil {
			fmt.Println(err)
		}
	}
	s := r.Stats()
	fmt.Println(s.Pattern, s.Useful <= s.Issued)
	// Output: backward true
}
