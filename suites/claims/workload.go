package claims

import (
	"os"

	"github.com/stele-go/stele/lab"
)

// asPublished returns the report's environment: no garbage collector, one thread.
func asPublished() []string { return []string{"GOGC=off", "GOMAXPROCS=1"} }

// inDir runs f with the block's directory as working directory, because the published
// workloads use relative paths.
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

// Sizes of the published workloads.
const (
	publishedOps   = 100_000 // paths, or headers
	publishedFiles = 1000    // files, and as many goroutines
	headerLen      = 128     // bytes
)

// eightThreads returns the report's environment.
func eightThreads() []string { return []string{"GOMAXPROCS=8"} }

// idOf returns the ID of an experiment.
func idOf(e lab.Experiment) string { return e.ID() }

// experiments returns the experiment that of makes for each value.
func experiments[T any](of func(T) lab.Experiment, values ...T) []lab.Experiment {
	list := make([]lab.Experiment, len(values))
	for i, v := range values {
		list[i] = of(v)
	}
	return list
}

// firstIsBaseline returns the variants, the first marked as their baseline.
func firstIsBaseline(list ...lab.Variant) []lab.Variant {
	list[0].Baseline = true
	return list
}
