package suites

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
)

// filesPerBlock bounds the files that a block makes. A file system of 1 GiB
// may have no more than 65,536 inodes.
const filesPerBlock = 40_000

// scaleFiles is the number of files of a block of experiment scale: ten for
// each of 1,000 goroutines, so that starting those is little of the time.
const scaleFiles = 10_000

// batchFiles is the number of files of one operation of experiment batch.
const batchFiles = 1000

// leftOversQuick and leftOversMany are how many files are in the folder
// already that experiment left-overs makes more in.
const (
	leftOversQuick = 100_000
	leftOversMany  = 2_800_000
)

// newfileFull is the suite newfile.
func newfileFull() []lab.Experiment {
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
	for _, left := range []int{leftOversQuick, leftOversMany} {
		list = append(list, newfileLeftOvers(left))
	}
	return list
}

// newfileQuick is what best shows what the suite is about.
func newfileQuick() []lab.Experiment {
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
		Params:   lab.Params{"goroutines": strconv.Itoa(goroutines), "size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of making one %s is fastest from %s?", content, goroutinesText(goroutines)),
		Op:       fmt.Sprintf("one new %s, closed again", content),
		MaxOps:   filesPerBlock,
	}, newfileWays(size > 0))
}

// newfileScale is one way from more and more goroutines.
func newfileScale(way NewfileWay) lab.Experiment {
	e := lab.Experiment{
		Suite:    "newfile",
		Name:     "scale",
		Params:   lab.Params{"way": strings.ReplaceAll(way.Name, " ", "-")},
		Question: fmt.Sprintf("What does %s lose or gain from more goroutines?", way.Name),
		Op:       "one new empty file, closed again",
		Ops:      scaleFiles,
	}
	for _, goroutines := range []int{1, 16, 1000} {
		v := way.variant(&e, func(b *lab.B, f *Files, root string) error { return runCreate(b, f, root, goroutines, 0) })
		v.Name += ", " + goroutinesText(goroutines)
		v.Baseline = goroutines == 1
		e.Variants = append(e.Variants, v)
	}
	return e
}

// newfileQueue holds a Queue against the Dir that it makes files in.
func newfileQueue(goroutines int) lab.Experiment {
	return withFileWays(lab.Experiment{
		Name:     "queue",
		Params:   lab.Params{"goroutines": strconv.Itoa(goroutines)},
		Question: fmt.Sprintf("What does a queue cost or save %s?", goroutinesText(goroutines)),
		Op:       "one new empty file, closed again",
		MaxOps:   filesPerBlock,
	}, queueWays())
}

func newfileBatch() lab.Experiment {
	return withFileWays(lab.Experiment{
		Name:     "batch",
		Params:   lab.Params{"files": strconv.Itoa(batchFiles)},
		Question: "Which way makes many empty files at once fastest?",
		Op:       fmt.Sprintf("%d new empty files", batchFiles),
		MaxOps:   filesPerBlock / batchFiles,
	}, batchFileWays())
}

func newfileLeftOvers(left int) lab.Experiment {
	e := lab.Experiment{
		Name:     "left-overs",
		Params:   lab.Params{"left": strconv.Itoa(left)},
		Question: fmt.Sprintf("Which way is fastest in a folder that %d files were left in?", left),
		Op:       "one new empty file, closed again, by 16 goroutines",
		MaxOps:   filesPerBlock / 4, // all are looked up and removed after the block
	}
	if left > leftOversQuick {
		e.MaxRounds = 8 // that takes seconds, as all left-overs are listed too
	}
	return withFileWays(e, leftOverWays())
}

func goroutinesText(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return strconv.Itoa(n) + " goroutines"
}

func withFileWays(e lab.Experiment, ways []NewfileWay) lab.Experiment {
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
			goroutines, err := intParam(b, "goroutines", 1<<14)
			if err != nil {
				return err
			}
			size := 0
			if experiment == "create" {
				if size, err = sizeParam(b); err != nil {
					return err
				}
			}
			return runCreate(b, f, root, goroutines, size)
		}
	case "batch":
		return runFileBatch
	case "left-overs":
		return func(b *lab.B, f *Files, root string) error { return runCreate(b, f, root, 16, 0) }
	}
	return func(*lab.B, *Files, string) error {
		return fmt.Errorf("suite newfile has no experiment %q", experiment)
	}
}

func sizeParam(b *lab.B) (int, error) {
	n, err := strconv.Atoi(b.Params["size"])
	if err != nil || n < 0 || n > 1<<24 {
		return 0, fmt.Errorf("parameter size=%q: want a number from 0 to %d", b.Params["size"], 1<<24)
	}
	return n, nil
}

// runCreate deals b.N files out in turn.
func runCreate(b *lab.B, f *Files, root string, goroutines, size int) error {
	names := fileNames(b)
	p := pathsIn(root, names)
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
			err = f.Create(p.abs[i], p.rel[i], data)
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
	n, err := intParam(b, "files", 1<<16)
	if err != nil {
		return err
	}
	batches := make([]paths, b.N)
	for i := range batches {
		names := make([]string, n)
		for j := range names {
			names[j] = fmt.Sprintf("%016x", b.Rand.Uint64())
		}
		batches[i] = pathsIn(root, names)
	}
	for b.Loop() {
		p := &batches[b.I()]
		if err := f.batch(b.Context(), p.abs, p.rel); err != nil {
			return err
		}
	}
	return nil
}

// filesRoot is the folder of a block's files, and what puts it back into the
// state in which the next block wants it.
func filesRoot(b *lab.B, experiment string) (root string, restore func() error, err error) {
	if experiment != "left-overs" {
		return b.Dir, func() error { return nil }, nil
	}
	n, err := intParam(b, "left", 100_000_000)
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
func (w NewfileWay) Variant(e *lab.Experiment) lab.Variant {
	return w.variant(e, newfileJob(e.Name))
}

func (w NewfileWay) variant(e *lab.Experiment, job fileJob) lab.Variant {
	promise := newfilePromise(w.Level, w.After, e.Params["size"] != "" && e.Params["size"] != "0")
	if e.Name == "batch" {
		promise.After = durability.Torn // any of the files
	}
	experiment := e.Name
	return lab.Variant{
		Name: w.Name, Doc: w.Doc, Promise: promise, Baseline: w.Baseline,
		Run: func(b *lab.B) (err error) {
			root, restore, err := filesRoot(b, experiment)
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
