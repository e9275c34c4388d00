// Package syncs asks which way of making writes durable is fastest, and how even it
// is: suite sync.
package syncs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The ways of the suite are power.SyncWays: power.SyncTable shows the durability of the
// same code by power cuts.

// PageSize is the number of bytes that one operation writes.
const PageSize = 4 << 10

// aheadBytes is how much of a file that will be overwritten is written before: enough
// that the disk does not get the same block again at once.
const aheadBytes = 8 << 20

// The values of the parameter file.
const (
	fileOverwrite = "overwrite" // blocks that were written ahead: a sync has no size or extents to write
	fileAppend    = "append"    // at the end: the size changes with each write
)

// The names of the ways.
const (
	wayWrite       = "write"
	WayFsync       = "write + fsync"
	wayFdatasync   = "write + fdatasync"
	wayRWFDsync    = "RWF_DSYNC"
	WayODsync      = "O_DSYNC"
	WayOSync       = "O_SYNC"
	wayDirectDsync = "O_DIRECT + RWF_DSYNC"
)

// rates returns the rates of experiment frequency, in operations a second, ascending.
func rates() []int { return []int{1, 5, 10, 20, 40, 80, 120, 200} }

// Full returns the experiments of the suite.
func Full() []lab.Experiment {
	var list []job.Job[power.SyncWay]
	for _, file := range []string{fileOverwrite, fileAppend} {
		list = append(list, mechanism(file))
		for _, writers := range []int{1, 4, 16, 64} {
			list = append(list, byWriters(file, writers))
		}
		for _, hz := range rates() {
			list = append(list, frequency(file, hz))
		}
	}
	return job.Build(list)
}

// Quick returns the experiment that shows best what the suite is about.
func Quick() []lab.Experiment {
	return []lab.Experiment{job.Only(mechanism(fileOverwrite).Build(), WayFsync, wayFdatasync, wayRWFDsync, wayDirectDsync)}
}

// mechanism returns the job of one writer, as fast as it can.
func mechanism(file string) job.Job[power.SyncWay] {
	return newJob(lab.Experiment{
		Name: "mechanism", Params: run.Params{"file": file},
		Question: fmt.Sprintf("Which way of making a write of 4 KiB durable is fastest, where it %s?", whatItDoes(file)),
		Op:       "one write of 4 KiB, durable where the way promises it",
		MaxOps:   20_000,
	}, runSync)
}

// byWriters returns the job of many writers, each to its own file, on one device.
func byWriters(file string, writers int) job.Job[power.SyncWay] {
	return newJob(lab.Experiment{
		Name: "writers", Params: run.Params{"file": file, "writers": strconv.Itoa(writers)},
		Question: fmt.Sprintf("Which way lets %s share a device best?", units.Count(writers, "writer")),
		Op:       "one write of 4 KiB to one of the writers' own files, durable where the way promises it",
		MaxOps:   20_000,
	}, runSyncWriters)
}

// frequency returns the job of one writer that writes hz times a second and waits in
// between, as a log does on a quiet machine. The time of an operation is that of the
// write and its sync, without the wait.
func frequency(file string, hz int) job.Job[power.SyncWay] {
	return newJob(lab.Experiment{
		Name: "frequency", Params: run.Params{"file": file, "hz": strconv.Itoa(hz)},
		Question: fmt.Sprintf("How long, and how even, is a durable write that comes %d times a second?", hz),
		Op:       fmt.Sprintf("one write of 4 KiB, durable where the way promises it, %d a second", hz),
		Ops:      pacedOps(hz), MaxRounds: 6,
	}, runPaced)
}

// pacedOps returns a second of operations, and enough for a standard deviation.
func pacedOps(hz int) int64 { return int64(max(hz, 5)) }

func whatItDoes(file string) string {
	if file == fileAppend {
		return "makes the file longer"
	}
	return "goes over what is there"
}

// WayNamed returns the way of that name.
func WayNamed(name string) power.SyncWay {
	ways := power.SyncWays()
	return ways[slices.IndexFunc(ways, func(w power.SyncWay) bool { return w.Name == name })]
}

// newJob returns a job of all ways, WayFsync first.
func newJob(e lab.Experiment, run func(*lab.B, job.Site, power.SyncWay) error) job.Job[power.SyncWay] {
	e.Suite = "sync"
	j := job.Job[power.SyncWay]{Experiment: e, Run: run}
	for _, w := range power.SyncWays() {
		way := job.Way[power.SyncWay]{
			Name: w.Name, Doc: w.Doc, Promise: job.Promise(w.Level, durability.Torn),
			Baseline: w.Name == WayFsync || w.Name == wayWrite,
			Open:     job.Fixed(w),
		}
		if w.Name == WayFsync {
			j.Ways = slices.Insert(j.Ways, 0, way)
		} else {
			j.Ways = append(j.Ways, way)
		}
	}
	return j
}

// A syncFile is a file that is written to in pages, by one way.
type syncFile struct {
	way   power.SyncWay
	f     *os.File
	page  []byte
	ahead int64 // bytes that are written over again and again; 0: it grows
	off   int64
}

// newSyncFile makes the file name as the parameter file says.
func newSyncFile(b *lab.B, w power.SyncWay, name string, ahead int64) (*syncFile, error) {
	s := &syncFile{way: w, page: sys.AlignedBuffer(PageSize, PageSize)}
	for i := range s.page {
		s.page[i] = byte(i%251 + 1)
	}
	path := filepath.Join(b.Dir, name)
	switch file := b.Params["file"]; file {
	case fileOverwrite:
		s.ahead = ahead
		if err := datafile.Fill(path, int(ahead)); err != nil {
			return nil, err
		}
	case fileAppend:
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return nil, err
		}
	default:
		return nil, setting.Wrong("suites: parameter file", file, "%s or %s", fileOverwrite, fileAppend)
	}
	var err error
	if s.f, err = w.Open(path, 0); err != nil {
		return nil, err
	}
	// The first operation must not pay for making the file.
	if err := errors.Join(s.f.Sync(), datafile.SyncDir(b.Dir)); err != nil {
		return nil, errors.Join(err, s.f.Close())
	}
	return s, nil
}

// write is one operation.
func (s *syncFile) write() error {
	s.page[0]++
	err := s.way.WriteAt(s.f, s.page, s.off)
	s.off += PageSize
	if s.off == s.ahead {
		s.off = 0
	}
	return err
}

func runSync(b *lab.B, _ job.Site, w power.SyncWay) (err error) {
	s, err := newSyncFile(b, w, "data", aheadBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.f.Close()) }()
	b.SetBytes(PageSize)
	for b.Loop() {
		if err := s.write(); err != nil {
			return err
		}
	}
	return nil
}

func runSyncWriters(b *lab.B, _ job.Site, w power.SyncWay) (err error) {
	n, err := job.Int(b, "writers", 1, 1<<10)
	if err != nil {
		return err
	}
	files := make([]*syncFile, n)
	for i := range files {
		// Fill writes in pieces of 1 MiB.
		s, openErr := newSyncFile(b, w, fmt.Sprint("data", i), 1<<20)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, s.f.Close()) }()
		files[i] = s
	}
	b.SetBytes(PageSize)
	return b.Parallel(n, func(w *lab.Worker) error {
		for w.Loop() {
			if err := files[w.ID].write(); err != nil {
				return err
			}
		}
		return nil
	})
}

// jitterMetric is the standard deviation of the operations of a block, in
// nanoseconds.
const jitterMetric = "jitter_sd_ns"

func runPaced(b *lab.B, _ job.Site, w power.SyncWay) (err error) {
	hz, err := job.Int(b, "hz", 1, 10_000)
	if err != nil {
		return err
	}
	s, err := newSyncFile(b, w, "data", aheadBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.f.Close()) }()
	b.SetBytes(PageSize)
	b.Pace(time.Second / time.Duration(hz))
	var v variance
	for b.Loop() {
		start := time.Now()
		if err := s.write(); err != nil {
			return err
		}
		v.add(float64(time.Since(start)))
	}
	if v.n < 2 {
		b.ReportMissing(jitterMetric, "a single operation has no deviation")
		return nil
	}
	b.Report(jitterMetric, v.deviation())
	return nil
}

// variance sums up deviations as they come (Welford 1962).
type variance struct{ n, mean, squares float64 }

func (v *variance) add(x float64) {
	v.n++
	d := x - v.mean
	v.mean += d / v.n
	v.squares += d * (x - v.mean)
}

func (v *variance) deviation() float64 { return math.Sqrt(v.squares / (v.n - 1)) }
