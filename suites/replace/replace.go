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

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
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

// Full returns the experiments of the suite. Each operation replaces files that are
// there and hold as much as the new ones.
func Full() []lab.Experiment { return job.Build(Jobs()) }

// Quick returns the experiment that shows best what the suite is about.
func Quick() []lab.Experiment {
	j := single(smallFile)
	return []lab.Experiment{job.Only(j.Build(), plainPower, "atomicfile.WriteFile", "Dir.WriteFile", "os.WriteFile")}
}

// Jobs returns the jobs of the suite.
func Jobs() []job.Job[Replacer] {
	var list []job.Job[Replacer]
	for _, size := range []int{smallFile, largeFile} {
		list = append(list, single(size), byWriters(16, size))
		for _, files := range []int{8, 64, 512} {
			list = append(list, batch(files, size))
		}
	}
	return list
}

func newJob(e lab.Experiment, run func(*lab.B, job.Site, Replacer) error, ways []Way) job.Job[Replacer] {
	e.Suite = "replace"
	return job.Job[Replacer]{Experiment: e, Ways: ways, Run: run, Close: Replacer.close}
}

func single(size int) job.Job[Replacer] {
	return newJob(lab.Experiment{
		Name:     "single",
		Params:   run.Params{"size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of replacing a file of %s is fastest?", units.Size(int64(size))),
		Op:       fmt.Sprintf("one file of %s replaced, one of %d in turn", units.Size(int64(size)), singleFiles),
	}, runSingle, oneFileWays())
}

func byWriters(writers, size int) job.Job[Replacer] {
	return newJob(lab.Experiment{
		Name:   "writers",
		Params: run.Params{"size": strconv.Itoa(size), "writers": strconv.Itoa(writers)},
		Question: fmt.Sprintf("Which way is fastest when %d goroutines replace files of %s in one directory?",
			writers, units.Size(int64(size))),
		Op: fmt.Sprintf("one file of %s replaced; each goroutine has its own", units.Size(int64(size))),
	}, runByWriters, oneFileWays())
}

func batch(files, size int) job.Job[Replacer] {
	j := newJob(lab.Experiment{
		Name:     "batch",
		Params:   run.Params{"files": strconv.Itoa(files), "size": strconv.Itoa(size)},
		Question: fmt.Sprintf("Which way of replacing %d files of %s is fastest?", files, units.Size(int64(size))),
		Op:       fmt.Sprintf("%d files of %s replaced in one directory", files, units.Size(int64(size))),
	}, runBatch, manyFilesWays())
	if files*size > 128<<20 {
		// Half a gigabyte an operation, and as much to prepare: few rounds,
		// and no ways that differ little from another one.
		j.MaxOps, j.MaxRounds = 1, 6
		keep := []string{plainPower, plainPowerOnce, "Batch", "Batch SyncEach", "Batch SyncWholeFS"}
		j.Ways = slices.DeleteFunc(j.Ways, func(w Way) bool { return !slices.Contains(keep, w.Name) })
	}
	return j
}

// content returns the new content of the files.
func content(b *lab.B) ([]byte, error) {
	size, err := job.Int(b, "size", 1, 1<<30)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(b.Rand.Uint32())
	}
	return data, nil
}

// singleFiles is how many files are replaced in turn where one is replaced at
// a time.
const singleFiles = 8

func runSingle(b *lab.B, at job.Site, r Replacer) error {
	data, err := content(b)
	if err != nil {
		return err
	}
	names, err := oldFiles(at.Dir, singleFiles, data)
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

func runByWriters(b *lab.B, at job.Site, r Replacer) error {
	data, err := content(b)
	if err != nil {
		return err
	}
	writers, err := job.Int(b, "writers", 1, 1<<12)
	if err != nil {
		return err
	}
	names, err := oldFiles(at.Dir, writers, data)
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

func runBatch(b *lab.B, at job.Site, r Replacer) error {
	data, err := content(b)
	if err != nil {
		return err
	}
	files, err := job.Int(b, "files", 1, 1<<16)
	if err != nil {
		return err
	}
	names, err := oldFiles(at.Dir, files, data)
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
