package env_test

import (
	"fmt"
	"os"

	"github.com/stele-go/stele/lab/env"
)

func ExampleEnvironment_Diff() {
	old := env.Environment{FS: "ext4", Journal: "ordered", Dir: "/a"}
	now := env.Environment{FS: "ext4", Journal: "none", Dir: "/b"}
	for _, d := range old.Diff(now) {
		fmt.Printf("%s: %s, now %s; matters: %v\n", d.Field, d.Old, d.New, d.Matters)
	}
	// Output:
	// journal: ordered, now none; matters: true
	// dir: /a, now /b; matters: false
}

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
