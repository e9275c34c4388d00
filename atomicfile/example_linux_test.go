package atomicfile_test

import (
	"fmt"
	"log"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
)

func ExampleSweep() {
	dir, remove := tempDir()
	defer remove()

	f, err := atomicfile.Create(filepath.Join(dir, "a"), 0o644, atomicfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Abort()

	// Also while others write: their files are left.
	swept, err := atomicfile.Sweep(dir)
	fmt.Println(len(swept.Removed), len(swept.Left), err)
	// Output: 0 1 <nil>
}
