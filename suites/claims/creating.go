package claims

import (
	"os"
	"strconv"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

const (
	nameOne  = "1 goroutine"
	nameMany = "1,000 goroutines"
)

// deal deals b.N operations out to goroutines in turn.
func deal(b *lab.B, goroutines int, op func(i int64) error) error {
	return b.Parallel(goroutines, func(w *lab.Worker) error {
		for w.Loop() {
			if err := op(w.I()*int64(goroutines) + int64(w.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// createAndClose is os.Create and Close of names in the working directory.
func createAndClose(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// distinctNames are as many names as there are operations.
func distinctNames(b *lab.B) []string {
	names := make([]string, b.N)
	for i := range names {
		names[i] = "test_" + strconv.Itoa(i)
	}
	return names
}

// createMany is the workload that the other ways are held against: 1,000
// goroutines, as many distinct names.
func createMany(b *lab.B) error {
	names := distinctNames(b)
	return deal(b, publishedFiles, func(i int64) error { return createAndClose(names[i]) })
}

// total writes the time of as many operations as the report timed.
func total(perOp run.Estimate) string {
	return time.Duration(perOp.Median * publishedFiles).Round(10 * time.Microsecond).String()
}

func touch(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func allPaths(n int64, path func(i int) string) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = path(i)
	}
	return paths
}

// The variants of D1.
const (
	variantAll  = "os.MkdirAll"
	variantLoop = "loop of os.Mkdir"
)
