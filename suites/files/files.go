// Package files asks which way of creating many files is fastest: suite newfile.
package files

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
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

// leftOversQuick and LeftOversMany are the numbers of files that the directory of
// experiment left-overs holds before the experiment adds more.
const (
	leftOversQuick = 100_000
	LeftOversMany  = 2_800_000
)

// Full returns the experiments of the suite.
func Full() []lab.Experiment {
	return slices.Concat(job.Build(creating()), scales(), job.Build(others()))
}

// Quick returns the experiment that shows best what the suite is about.
func Quick() []lab.Experiment {
	j := create(16, 0)
	return []lab.Experiment{job.Only(j.Build(), nameOSCreate, nameDirCreate, nameDirCreate256, nameQueueCreate)}
}

// Jobs returns the jobs of the suite, without those of experiment scale, each of which
// is for one way.
func Jobs() []job.Job[Files] { return append(creating(), others()...) }

func creating() []job.Job[Files] {
	var list []job.Job[Files]
	for _, size := range []int{0, 4096} {
		for _, goroutines := range []int{1, 16, 1000} {
			list = append(list, create(goroutines, size))
		}
	}
	return list
}

func others() []job.Job[Files] {
	var list []job.Job[Files]
	for _, goroutines := range []int{1, 16, 1000} {
		list = append(list, queue(goroutines))
	}
	return append(list, batch(), besideLeftOvers(leftOversQuick), besideLeftOvers(LeftOversMany))
}

// newJob returns a job of empty files.
func newJob(e lab.Experiment, run func(*lab.B, job.Site, Files) error, ways []Way) job.Job[Files] {
	e.Suite = "newfile"
	return job.Job[Files]{Experiment: e, Ways: ways, Run: run, Close: Files.close, Promise: ofEmptyFile}
}

// create returns the job of one file an operation.
func create(goroutines, size int) job.Job[Files] {
	content := "empty file"
	if size > 0 {
		content = fmt.Sprintf("file of %d bytes", size)
	}
	j := newJob(lab.Experiment{
		Name:     "create",
		Params:   run.Params{"goroutines": strconv.Itoa(goroutines), "size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of making one %s is fastest from %s?", content, units.Count(goroutines, "goroutine")),
		Op:       fmt.Sprintf("one new %s, closed again", content),
		MaxOps:   PerBlock,
	}, func(b *lab.B, at job.Site, f Files) error {
		size, err := job.Size(b)
		if err != nil {
			return err
		}
		return runParam(b, at, f, size)
	}, oneFileWays(size > 0))
	if size > 0 {
		j.Promise = ofFile
	}
	return j
}

// Creating returns the job of one new empty file an operation, from so many
// goroutines.
func Creating(e lab.Experiment, goroutines int) job.Job[Files] {
	return newJob(e, func(b *lab.B, at job.Site, f Files) error { return createAll(b, at, f, goroutines, 0) }, nil)
}

// scales returns an experiment for each way, from more and more goroutines.
func scales() []lab.Experiment {
	var list []lab.Experiment
	for _, way := range scaleWays() {
		e := lab.Experiment{
			Suite:    "newfile",
			Name:     "scale",
			Params:   run.Params{"way": strings.ReplaceAll(way.Name, " ", "-")},
			Question: fmt.Sprintf("What does %s lose or gain from more goroutines?", way.Name),
			Op:       "one new empty file, closed again",
			Ops:      scaleFiles,
		}
		for _, goroutines := range []int{1, 16, 1000} {
			j := Creating(e, goroutines)
			v := j.Variant(way)
			v.Name += ", " + units.Count(goroutines, "goroutine")
			v.Baseline = goroutines == 1
			e.Variants = append(e.Variants, v)
		}
		list = append(list, e)
	}
	return list
}

// queue compares a Queue with the Dir that it makes files in.
func queue(goroutines int) job.Job[Files] {
	return newJob(lab.Experiment{
		Name:     "queue",
		Params:   run.Params{"goroutines": strconv.Itoa(goroutines)},
		Question: fmt.Sprintf("What does a queue cost or save %s?", units.Count(goroutines, "goroutine")),
		Op:       "one new empty file, closed again",
		MaxOps:   PerBlock,
	}, func(b *lab.B, at job.Site, f Files) error { return runParam(b, at, f, 0) }, queueWays())
}

func batch() job.Job[Files] {
	j := newJob(lab.Experiment{
		Name:     "batch",
		Params:   run.Params{"files": strconv.Itoa(batchFiles)},
		Question: "Which way makes many empty files at once fastest?",
		Op:       fmt.Sprintf("%d new empty files", batchFiles),
		MaxOps:   PerBlock / batchFiles,
	}, runBatch, batchWays())
	j.Promise = func(p run.Promise) run.Promise {
		p.After = durability.Torn // any of the files
		return p
	}
	return j
}

func besideLeftOvers(left int) job.Job[Files] {
	j := Creating(lab.Experiment{
		Name:     "left-overs",
		Params:   run.Params{"left": strconv.Itoa(left)},
		Question: fmt.Sprintf("Which way is fastest in a directory that %d files were left in?", left),
		Op:       "one new empty file, closed again, by 16 goroutines",
		MaxOps:   PerBlock / 4, // all are looked up and removed after the block
	}, 16)
	j.Ways = leftOverWays()
	j.Site = func(b *lab.B) (job.Site, func() error, error) {
		dir, restore, err := restoredLeftOvers(b)
		return job.Site{Dir: dir, Ops: b.N}, restore, err
	}
	if left > leftOversQuick {
		j.MaxRounds = 8 // a round takes seconds, because all left-overs are listed too
	}
	return j
}

// runParam creates files from as many goroutines as the parameter says.
func runParam(b *lab.B, at job.Site, f Files, size int) error {
	goroutines, err := job.Int(b, "goroutines", 1, 1<<14)
	if err != nil {
		return err
	}
	return createAll(b, at, f, goroutines, size)
}

// createAll gives b.N files to the goroutines in turn.
func createAll(b *lab.B, at job.Site, f Files, goroutines, size int) error {
	p := trees.PathsIn(at.Dir, fileNames(b))
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

// fileNames returns b.N names of 16 random digits, as temporary files and objects have.
func fileNames(b *lab.B) []string {
	names := make([]string, b.N)
	for i := range names {
		names[i] = fmt.Sprintf("%016x", b.Rand.Uint64())
	}
	return names
}

// runBatch makes the same number of files with each operation.
func runBatch(b *lab.B, at job.Site, f Files) error {
	n, err := job.Int(b, "files", 1, 1<<16)
	if err != nil {
		return err
	}
	batches := make([]trees.Paths, b.N)
	for i := range batches {
		names := make([]string, n)
		for j := range names {
			names[j] = fmt.Sprintf("%016x", b.Rand.Uint64())
		}
		batches[i] = trees.PathsIn(at.Dir, names)
	}
	for b.Loop() {
		p := &batches[b.I()]
		if err := f.batch(b.Context(), p.Abs, p.Rel); err != nil {
			return err
		}
	}
	return nil
}

// ofFile returns the promise of a file with content.
func ofFile(p run.Promise) run.Promise {
	if p.Level == durability.None {
		p.After = durability.Torn
	}
	return p
}

// ofEmptyFile returns the promise of an empty file, which is there or not.
func ofEmptyFile(p run.Promise) run.Promise {
	p.After = durability.OldOrNew
	return ofFile(p)
}
