package env_test

import (
	"fmt"
	"os"

	"github.com/stele-go/stele/lab/env"
)

func ExampleProbe() {
	can, err := env.Probe(os.TempDir())
	if err != nil {
		fmt.Println(err)
		return
	}
	if one, ok := can.Get("fsync"); ok {
		fmt.Println(one.Name, one.Supported)
	}
	// Output: fsync yes
}
