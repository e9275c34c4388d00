// Package files asks which way of creating many files is fastest: suite newfile.
package files

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/trees"
	"github.com/stele-go/stele/suites/job"
)

// PerBlock bounds the files that a block makes. A file system of 1 GiB
// may have no more than 65,536 inodes.
const PerBlock = 40_000

// scaleFiles is the number of files of a block of experiment scale: ten for
// each of 1,000 goroutines, so that starting those is little of the time.
const scaleFiles = 10_000

// batchFiles is the number of files of one operation of experiment batch.
const batchFiles = 1000

// LeftOversQuick and LeftOversMany are how many files are in the folder
// already that experiment left-overs makes more in.
const (
	LeftOversQuick = 100_000
	LeftOversMany  = 2_800_000
)

// Full is the suite newfile.
func Full() []lab.Experiment {
	var list []lab.Experiment
	for _, size := range []int{0, 4096} {
		for _, goroutines := range []int{1, 16, 1000} {
			list = append(list, newfileCreate(goroutines, size))
		}
	}
	for _, way := range scaleWays() {
		list = append(list, newfileScale(way))
	}
	for _, goroutines := range []int{1, 16, 1000} {
		list = append(list, newfileQueue(goroutines))
	}
	list = append(list, newfileBatch())
	for _, left := range []int{LeftOversQuick, LeftOversMany} {
		list = append(list, newfileLeftOvers(left))
	}
	return list
}

// Quick is what best shows what the suite is about.
func Quick() []lab.Experiment {
	e := newfileCreate(16, 0)
	keep := []string{nameOSCreate, nameDirCreate, nameDirCreate256, nameQueueCreate}
	e.Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool { return !slices.Contains(keep, v.Name) })
	return []lab.Experiment{e}
}

// newfileCreate is one file an operation, by every way.
func newfileCreate(goroutines, size int) lab.Experiment {
	content := "empty file"
	if size > 0 {
		content = fmt.Sprintf("file of %d bytes", size)
	}
	return withFileWays(lab.Experiment{
		Name:     "create",
		Params:   run.Params{"goroutines": strconv.Itoa(goroutines), "size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of making one %s is fastest from %s?", content, job.Goroutines(goroutines)),
		Op:       fmt.Sprintf("one new %s, closed again", content),
		MaxOps:   PerBlock,
	}, newfileWays(size > 0))
}

// newfileScale is one way from more and more goroutines.
func newfileScale(way Way) lab.Experiment {
	e := lab.Experiment{
		Suite:    "newfile",
		Name:     "scale",
		Params:   run.Params{"way": strings.ReplaceAll(way.Name, " ", "-")},
		Question: fmt.Sprintf("What does %s lose or gain from more goroutines?", way.Name),
		Op:       "one new empty file, closed again",
		Ops:      scaleFiles,
	}
	for _, goroutines := range []int{1, 16, 1000} {
		v := way.Doing(&e, func(b *lab.B, f *Files, root string) error { return RunCreate(b, f, root, goroutines, 0) })
		v.Name += ", " + job.Goroutines(goroutines)
		v.Baseline = goroutines == 1
		e.Variants = append(e.Variants, v)
	}
	return e
}

// newfileQueue holds a Queue against the Dir that it makes files in.
func newfileQueue(goroutines int) lab.Experiment {
	return withFileWays(lab.Experiment{
		Name:     "queue",
		Params:   run.Params{"goroutines": strconv.Itoa(goroutines)},
		Question: fmt.Sprintf("What does a queue cost or save %s?", job.Goroutines(goroutines)),
		Op:       "one new empty file, closed again",
		MaxOps:   PerBlock,
	}, queueWays())
}

func newfileBatch() lab.Experiment {
	return withFileWays(lab.Experiment{
		Name:     "batch",
		Params:   run.Params{"files": strconv.Itoa(batchFiles)},
		Question: "Which way makes many empty files at once fastest?",
		Op:       fmt.Sprintf("%d new empty files", batchFiles),
		MaxOps:   PerBlock / batchFiles,
	}, batchFileWays())
}

func newfileLeftOvers(left int) lab.Experiment {
	e := lab.Experiment{
		Name:     "left-overs",
		Params:   run.Params{"left": strconv.Itoa(left)},
		Question: fmt.Sprintf("Which way is fastest in a folder that %d files were left in?", left),
		Op:       "one new empty file, closed again, by 16 goroutines",
		MaxOps:   PerBlock / 4, // all are looked up and removed after the block
	}
	if left > LeftOversQuick {
		e.MaxRounds = 8 // that takes seconds, as all left-overs are listed too
	}
	return withFileWays(e, leftOverWays())
}

func withFileWays(e lab.Experiment, ways []Way) lab.Experiment {
	e.Suite = "newfile"
	for _, w := range ways {
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// A fileJob is what an experiment does with a way that was opened for root.
type fileJob func(b *lab.B, f *Files, root string) error

// newfileJob returns the job of an experiment of the suite.
func newfileJob(experiment string) fileJob {
	switch experiment {
	case "create", "queue":
		return func(b *lab.B, f *Files, root string) error {
			goroutines, err := job.Int(b, "goroutines", 1<<14)
			if err != nil {
				return err
			}
			size := 0
			if experiment == "create" {
				if size, err = job.Size(b); err != nil {
					return err
				}
			}
			return RunCreate(b, f, root, goroutines, size)
		}
	case "batch":
		return runFileBatch
	case "left-overs":
		return func(b *lab.B, f *Files, root string) error { return RunCreate(b, f, root, 16, 0) }
	}
	return func(*lab.B, *Files, string) error {
		return fmt.Errorf("suite newfile has no experiment %q", experiment)
	}
}

// RunCreate deals b.N files out in turn.
func RunCreate(b *lab.B, f *Files, root string, goroutines, size int) error {
	names := fileNames(b)
	p := trees.PathsIn(root, names)
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i)
	}
	if size > 0 {
		b.SetBytes(int64(size))
	}
	return b.Parallel(goroutines, func(w *lab.Worker) error {
		var err error
		for err == nil && w.Loop() {
			i := w.I()*int64(goroutines) + int64(w.ID)
			err = f.Create(p.Abs[i], p.Rel[i], data)
		}
		return cmp.Or(err, f.wait())
	})
}

// fileNames are b.N names of 16 random digits, as temporary files and objects
// have them: their order means nothing.
func fileNames(b *lab.B) []string {
	names := make([]string, b.N)
	for i := range names {
		names[i] = fmt.Sprintf("%016x", b.Rand.Uint64())
	}
	return names
}

// runFileBatch makes the same number of files with each operation.
func runFileBatch(b *lab.B, f *Files, root string) error {
	n, err := job.Int(b, "files", 1<<16)
	if err != nil {
		return err
	}
	batches := make([]trees.Paths, b.N)
	for i := range batches {
		names := make([]string, n)
		for j := range names {
			names[j] = fmt.Sprintf("%016x", b.Rand.Uint64())
		}
		batches[i] = trees.PathsIn(root, names)
	}
	for b.Loop() {
		p := &batches[b.I()]
		if err := f.batch(b.Context(), p.Abs, p.Rel); err != nil {
			return err
		}
	}
	return nil
}

// Root is the folder of a block's files, and what puts it back into the
// state in which the next block wants it.
func Root(b *lab.B, experiment string) (root string, restore func() error, err error) {
	if experiment != "left-overs" {
		return b.Dir, func() error { return nil }, nil
	}
	n, err := job.Int(b, "left", 100_000_000)
	if err != nil {
		return "", nil, err
	}
	root, err = leftOvers(b, n)
	return root, func() error { return removeAllBut(root, leftOverPrefix) }, err
}

// newfilePromise is what a way promises of a file with content, or of an empty
// one: that is there or not.
func newfilePromise(level durability.Level, after durability.After, content bool) durability.Promise {
	switch {
	case level == durability.None:
		after = durability.Torn
	case !content:
		after = durability.OldOrNew
	}
	return durability.Promise{Level: level, After: after}
}

// Variant makes a variant of an experiment of suite newfile.
func (w Way) Variant(e *lab.Experiment) lab.Variant {
	return w.Doing(e, newfileJob(e.Name))
}

func (w Way) Doing(e *lab.Experiment, job fileJob) lab.Variant {
	promise := newfilePromise(w.Level, w.After, e.Params["size"] != "" && e.Params["size"] != "0")
	if e.Name == "batch" {
		promise.After = durability.Torn // any of the files
	}
	experiment := e.Name
	return lab.Variant{
		Name: w.Name, Doc: w.Doc, Promise: promise, Baseline: w.Baseline,
		Run: func(b *lab.B) (err error) {
			root, restore, err := Root(b, experiment)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, restore()) }()
			f, err := w.Open(root)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.close()) }()
			return job(b, &f, root)
		},
	}
}
