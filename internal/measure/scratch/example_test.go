package scratch_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/scratch"
)

func Example() {
	// What earlier runs left behind, killed before they could clean up.
	if _, err := scratch.Sweep(os.TempDir()); err != nil {
		fmt.Println(err)
	}
	p, err := scratch.Dir(os.TempDir())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = os.WriteFile(filepath.Join(p.Path, "x"), []byte("measured"), 0o600)
	fmt.Println(err, p.Close())
	// Output: <nil> <nil>
}
