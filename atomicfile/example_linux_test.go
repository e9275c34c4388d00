package atomicfile_test

import (
	"context"
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

	// Other processes may write meanwhile: Sweep keeps their files.
	swept, err := atomicfile.Sweep(context.Background(), dir, atomicfile.SweepOptions{})
	fmt.Println(len(swept.Removed), len(swept.Kept), err)
	// Output: 0 1 <nil>
}
