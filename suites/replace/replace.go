// Package replace asks which way of replacing files all or nothing is fastest: suite
// replace.
package replace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// The sizes of the suite replace: a configuration file, and one that the
// device takes longer over than the journal does.
const (
	smallFile = 4 << 10
	largeFile = 1 << 20
)

// Full is the suite replace. Each operation replaces files that are
// there and hold as much as the new ones.
func Full() []lab.Experiment {
	var list []lab.Experiment
	for _, size := range []int{smallFile, largeFile} {
		list = append(list, replaceSingle(size), replaceByWriters(16, size))
		for _, files := range []int{8, 64, 512} {
			list = append(list, replaceBatch(files, size))
		}
	}
	return list
}

// Quick is what best shows what the suite is about.
func Quick() []lab.Experiment {
	e := replaceSingle(smallFile)
	keep := []string{plainPower, "atomicfile.WriteFile", "Dir.WriteFile", "os.WriteFile"}
	e.Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool {
		return !slices.Contains(keep, v.Name)
	})
	return []lab.Experiment{e}
}

func replaceSingle(size int) lab.Experiment {
	return withReplaceWays(lab.Experiment{
		Name:     "single",
		Params:   run.Params{"size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of replacing a file of %s is fastest?", job.SizeName(size)),
		Op:       fmt.Sprintf("one file of %s replaced, one of %d in turn", job.SizeName(size), singleFiles),
	}, oneFileWays())
}

func replaceByWriters(writers, size int) lab.Experiment {
	return withReplaceWays(lab.Experiment{
		Name:   "writers",
		Params: run.Params{"size": strconv.Itoa(size), "writers": strconv.Itoa(writers)},
		Question: fmt.Sprintf("Which way is fastest when %d goroutines replace files of %s in one folder?",
			writers, job.SizeName(size)),
		Op: fmt.Sprintf("one file of %s replaced; each goroutine has its own", job.SizeName(size)),
	}, oneFileWays())
}

func replaceBatch(files, size int) lab.Experiment {
	e := lab.Experiment{
		Name:     "batch",
		Params:   run.Params{"files": strconv.Itoa(files), "size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of replacing %d files of %s is fastest?", files, job.SizeName(size)),
		Op:       fmt.Sprintf("%d files of %s replaced in one folder", files, job.SizeName(size)),
	}
	ways := manyFilesWays()
	if files*size > 128<<20 {
		// Half a gigabyte an operation, and as much to prepare: few rounds,
		// and no ways that differ little from another one.
		e.MaxOps, e.MaxRounds = 1, 6
		keep := []string{plainPower, plainPowerOnce, "Batch", "Batch SyncEach", "Batch SyncWholeFS"}
		ways = slices.DeleteFunc(ways, func(w Way) bool { return !slices.Contains(keep, w.Name) })
	}
	return withReplaceWays(e, ways)
}

func withReplaceWays(e lab.Experiment, ways []Way) lab.Experiment {
	e.Suite = "replace"
	for _, w := range ways {
		e.Variants = append(e.Variants, w.Variant(&e))
	}
	return e
}

// Variant returns the way as a variant of e, an experiment of suite replace.
func (w Way) Variant(e *lab.Experiment) lab.Variant {
	each := replaceJob(e.Name)
	return lab.Variant{
		Name:     w.Name,
		Doc:      w.Doc,
		Promise:  durability.Promise{Level: w.Level, After: w.After},
		Baseline: w.Baseline,
		Run: func(b *lab.B) (err error) {
			size, err := job.Int(b, "size", 1<<30)
			if err != nil {
				return err
			}
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(b.Rand.Uint32())
			}
			r, err := w.Open(b.Dir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.close()) }()
			return each(b, &r, data)
		},
	}
}

// replaceJob returns what an experiment of the suite does with a way.
func replaceJob(experiment string) func(*lab.B, *Replacer, []byte) error {
	switch experiment {
	case "single":
		return runReplaceSingle
	case "writers":
		return runReplaceByWriters
	case "batch":
		return runReplaceBatch
	}
	return func(*lab.B, *Replacer, []byte) error {
		return fmt.Errorf("suite replace has no experiment %q", experiment)
	}
}

// singleFiles is how many files are replaced in turn where one is replaced at
// a time.
const singleFiles = 8

func runReplaceSingle(b *lab.B, r *Replacer, data []byte) error {
	names, err := oldFiles(b.Dir, singleFiles, data)
	if err != nil {
		return err
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := r.Write(names[b.I()%singleFiles], data); err != nil {
			return err
		}
	}
	return nil
}

func runReplaceByWriters(b *lab.B, r *Replacer, data []byte) error {
	writers, err := job.Int(b, "writers", 1<<12)
	if err != nil {
		return err
	}
	names, err := oldFiles(b.Dir, writers, data)
	if err != nil {
		return err
	}
	b.SetBytes(int64(len(data)))
	return b.Parallel(writers, func(w *lab.Worker) error {
		for w.Loop() {
			if err := r.Write(names[w.ID], data); err != nil {
				return err
			}
		}
		return nil
	})
}

func runReplaceBatch(b *lab.B, r *Replacer, data []byte) error {
	files, err := job.Int(b, "files", 1<<16)
	if err != nil {
		return err
	}
	names, err := oldFiles(b.Dir, files, data)
	if err != nil {
		return err
	}
	b.SetBytes(int64(files) * int64(len(data)))
	for b.Loop() {
		if err := r.batch(names, data); err != nil {
			return err
		}
	}
	return nil
}

// oldFiles makes the files that are to be replaced. They are synced, so that
// no operation pays for writing them out.
func oldFiles(dir string, n int, data []byte) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(dir, names[i]), data, replacePerm); err != nil {
			return nil, err
		}
	}
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return nil, err
	}
	err = d.SyncFS()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return names, errors.Join(err, d.Close())
}
