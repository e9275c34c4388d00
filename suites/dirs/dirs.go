// Package dirs asks which way of making directory trees is fastest: suite mkdir.
package dirs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/trees"
	"github.com/stele-go/stele/suites/job"
)

// perBlock bounds the directories that a block makes. A small file system
// has room for few: ext4 gives an inode to each 16 KiB by default, 65,536 in
// an image of 1 GiB, and a directory takes a block of its own.
const perBlock = 40_000

// Full returns the experiments of the suite. The ways without Stele use absolute
// paths below the block's directory, as services with a configured data directory do.
// A Maker and an os.Root use paths relative to the root they hold open.
func Full() []lab.Experiment { return job.Build(Jobs()) }

// quickPaths is the batch of the quick set. A disk can take half a millisecond for a
// directory, and as long again to remove it.
const quickPaths = 500

// Quick returns the experiment that shows best what the suite is about.
func Quick() []lab.Experiment {
	j := batchSource(quickPaths, batchInOneGo())
	return []lab.Experiment{job.Only(j.Build(), "os.MkdirAll", "loop of os.Mkdir", "Maker.All", "Maker.Batch N workers")}
}

// Jobs returns the jobs of the suite.
func Jobs() []job.Job[Dirs] {
	list := []job.Job[Dirs]{
		newJob(lab.Experiment{
			Name:     "fresh-7",
			Question: "Which way of making 7 fresh levels is fastest?",
			Op:       "one path of 7 new directories",
			MaxOps:   perBlock / 7,
		}, fresh(7), onePathWays()),
		newJob(lab.Experiment{
			Name:      "existing",
			Question:  "Which way is fastest when the directory is there already?",
			Op:        "one existing path of 7 levels, made by the same way before",
			Stateless: true,
		}, runExisting, onePathWays()),
		batchSource(10_000, batchInOneGo()),
		batchSource(quickPaths, batchInOneGo()),
		batchSource(300, batchDurably()),
		newJob(lab.Experiment{
			Name:     "batch-synthetic",
			Params:   run.Params{"paths": "10000"},
			Question: "Which way makes many paths with shared prefixes fastest when they come in random order?",
			Op:       "10,000 leaves, 32 to a directory, six levels down, into a fresh directory",
			MaxOps:   perBlock / 10_700,
		}, batchOf(trees.SyntheticPaths), batchInOneGo()),
	}
	for _, depth := range []int{1, 2, 4, 6, 8, 12, 16} {
		list = append(list, newJob(lab.Experiment{
			Name:     "depth",
			Params:   run.Params{"depth": strconv.Itoa(depth)},
			Question: fmt.Sprintf("Which way of making a path %d deep is fastest?", depth),
			Op:       fmt.Sprintf("one path of %d new directories", depth),
			MaxOps:   int64(min(10_000, perBlock/depth)),
		}, runDepth, onePathWays()))
	}
	for _, goroutines := range []int{1, 4, 16, 64} {
		list = append(list, newJob(lab.Experiment{
			Name:     "overlap",
			Params:   run.Params{"goroutines": strconv.Itoa(goroutines)},
			Question: fmt.Sprintf("Which way is fastest when %d goroutines make overlapping trees?", goroutines),
			Op:       "one new leaf, 64 to a directory, whose missing parents the neighbours make at the same time",
			MaxOps:   20_000,
		}, runOverlap, onePathWays()))
	}
	return list
}

func newJob(e lab.Experiment, run func(*lab.B, job.Site, Dirs) error, ways []Way) job.Job[Dirs] {
	e.Suite = "mkdir"
	return job.Job[Dirs]{Experiment: e, Ways: ways, Run: run, Close: Dirs.close}
}

func batchSource(paths int, ways []Way) job.Job[Dirs] {
	return newJob(lab.Experiment{
		Name:     "batch-source",
		Params:   run.Params{"paths": strconv.Itoa(paths)},
		Question: "Which way makes the directories of a source checkout fastest?",
		Op: fmt.Sprintf("%d directories of source checkouts, each after its parent, into a fresh directory",
			paths),
		MaxOps: int64(perBlock / paths),
	}, batchOf(func(_ *rand.Rand, n int) []string { return trees.CheckoutPaths(n) }), ways)
}

// batchInOneGo returns the ways for a large batch: of level Power only those that
// sync each directory once. Syncing path by path takes minutes for 10,000.
func batchInOneGo() []Way {
	var ways []Way
	for _, w := range onePathWays() {
		if w.Promise.Level == durability.Kill {
			ways = append(ways, w)
		}
	}
	ways = append(ways, mkdirAllSyncLater())
	return append(ways, batchWays()...)
}

// batchDurably returns the ways of level Power for a small batch, path by path
// and in one go.
func batchDurably() []Way {
	ways := append(onePathWays(), mkdirAllSyncLater())
	ways = append(ways, batchWays()...)
	return slices.DeleteFunc(ways, func(w Way) bool { return w.Promise.Level != durability.Power })
}

func runDepth(b *lab.B, at job.Site, d Dirs) error {
	depth, err := job.Int(b, "depth", 1, trees.MaxFreshDepth)
	if err != nil {
		return err
	}
	return fresh(depth)(b, at, d)
}

// fresh makes one path of new directories an operation.
func fresh(depth int) func(*lab.B, job.Site, Dirs) error {
	return func(b *lab.B, at job.Site, d Dirs) error {
		p := trees.PathsIn(at.Dir, trees.FreshPaths(b.Rand, b.N, depth))
		for b.Loop() {
			i := b.I()
			if err := d.Make(p.Abs[i], p.Rel[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func runExisting(b *lab.B, at job.Site, d Dirs) error {
	const n = 64 // paths: enough that a cache is looked up, not one answer repeated
	p := trees.PathsIn(at.Dir, trees.FreshPaths(b.Rand, n, 7))
	for i := range p.Abs {
		if err := d.Make(p.Abs[i], p.Rel[i]); err != nil {
			return err
		}
	}
	for b.Loop() {
		i := b.I() % n
		if err := d.Make(p.Abs[i], p.Rel[i]); err != nil {
			return err
		}
	}
	return nil
}

// batchOf makes the paths of list as often as there are operations, each time below
// a directory that is as new as the rest of the batch.
func batchOf(list func(rng *rand.Rand, n int) []string) func(*lab.B, job.Site, Dirs) error {
	return func(b *lab.B, at job.Site, d Dirs) error {
		n, err := job.Int(b, "paths", 1, 1<<16)
		if err != nil {
			return err
		}
		batches := make([]trees.Paths, b.N)
		for i, rel := 0, list(b.Rand, n); i < len(batches); i++ {
			below := make([]string, n)
			for j := range rel {
				below[j] = strconv.Itoa(i) + "/" + rel[j]
			}
			batches[i] = trees.PathsIn(at.Dir, below)
		}
		for b.Loop() {
			p := &batches[b.I()]
			if err := d.batch(b.Context(), p.Abs, p.Rel); err != nil {
				return err
			}
		}
		return nil
	}
}

// runOverlap gives the leaves to the goroutines in turn, so that they work in the same
// new directories.
func runOverlap(b *lab.B, at job.Site, d Dirs) error {
	goroutines, err := job.Int(b, "goroutines", 1, 1<<12)
	if err != nil {
		return err
	}
	p := trees.PathsIn(at.Dir, trees.OverlappingPaths(b.N))
	return b.Parallel(goroutines, func(w *lab.Worker) error {
		for w.Loop() {
			i := w.I()*int64(goroutines) + int64(w.ID)
			if err := d.Make(p.Abs[i], p.Rel[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
