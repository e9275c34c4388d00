package claims

import (
	"os"

	"github.com/stele-go/stele/lab"
)

// asPublished is the setting of the report: no collector, one thread.
func asPublished() []string { return []string{"GOGC=off", "GOMAXPROCS=1"} }

// inDir runs f with the block's folder as working directory, because the
// published workloads use relative paths.
func inDir(f func(b *lab.B) error) func(b *lab.B) error {
	return func(b *lab.B) (err error) {
		was, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := os.Chdir(b.Dir); err != nil {
			return err
		}
		defer func() {
			if back := os.Chdir(was); err == nil {
				err = back
			}
		}()
		return f(b)
	}
}

// ids returns the identities of the experiments in order.
func ids(list []lab.Experiment) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID()
	}
	return out
}

// publishedOps is the number of paths of the published workload.
const publishedOps = 100_000

// headerLen is the header of the published workloads, in bytes.
const headerLen = 128

// publishedFiles is the number of files, and of goroutines, of the published
// workload.
const publishedFiles = 1000

// eightThreads is the setting of the report.
func eightThreads() []string { return []string{"GOMAXPROCS=8"} }
