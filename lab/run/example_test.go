package run_test

import (
	"fmt"

	"github.com/stele-go/stele/lab/run"
)

func ExampleEnvironment_Diff() {
	old := run.Environment{FS: "ext4", Journal: "ordered", Dir: "/a"}
	now := run.Environment{FS: "ext4", Journal: "none", Dir: "/b"}
	for _, d := range old.Diff(now) {
		fmt.Printf("%s: %s, now %s; matters: %v\n", d.Field, d.Old, d.New, d.Matters)
	}
	// Output:
	// journal: ordered, now none; matters: true
	// dir: /a, now /b; matters: false
}
