package claims

import (
	"errors"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
)

const (
	nameOne  = "1 goroutine"
	nameMany = "1,000 goroutines"
)

// deal gives b.N operations to goroutines in turn.
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

// createAndClose creates or truncates a file and closes it.
func createAndClose(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// distinctName returns a name of its own for each i.
func distinctName(i int) string { return "test_" + strconv.Itoa(i) }

// letterName returns the name as coded: the number of the file becomes one letter.
func letterName(i int) string { return "test_" + string(rune('a'+i%c1Letters)) }

// distinctNames returns a name for each operation.
func distinctNames(b *lab.B) []string { return allPaths(b.N, distinctName) }

// createMany is the workload that other ways are compared with: 1,000 goroutines create
// distinct names.
func createMany(b *lab.B) error { return createNames(b, publishedFiles, distinctName) }

// createNames creates and closes a file for each operation, in the working directory.
func createNames(b *lab.B, goroutines int, name func(i int) string) error {
	names := allPaths(b.N, name)
	return deal(b, goroutines, func(i int64) error { return createAndClose(names[i]) })
}

// inOpenDir calls f with the block's directory, opened without syncs.
func inOpenDir(b *lab.B, f func(d *newfile.Dir) error) error {
	d, err := newfile.OpenDir(b.Dir, newfile.Options{Level: durability.Kill})
	if err != nil {
		return err
	}
	return errors.Join(f(d), d.Close())
}

// total writes the time of the report's number of operations.
func total(perOp run.Estimate) string {
	if math.IsNaN(perOp.Median) {
		return "NaN"
	}
	return time.Duration(perOp.Median * publishedFiles).Round(10 * time.Microsecond).String()
}

// touch opens a file with the given flags and closes it.
func touch(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// allPaths returns the paths of 0 to n-1.
func allPaths(n int64, path func(i int) string) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = path(i)
	}
	return paths
}
