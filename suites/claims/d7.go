package claims

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

const (
	variantAIO        = "libaio"
	variantGoroutines = "goroutines"
)

const (
	d7Page     = 4 << 10
	d7FileSize = 32 << 20
)

var d7Jobs = []int{1, 2, 4, 8, 16, 32}

// d7ClaimedKnee has the number of jobs past which throughput is claimed to stop growing, by
// file system.
var d7ClaimedKnee = map[string]int{"ext4": 4, "xfs": 16}

// A d7Writer writes pages for one job.
type d7Writer struct {
	write func(p []byte, off int64) error
	close func() error
}

// writeWithAIO opens a file for writes by libaio.
func writeWithAIO(path string) (d7Writer, error) {
	f, err := aio.OpenDirectSync(path)
	if err != nil {
		return d7Writer{}, err
	}
	a, err := aio.New()
	if err != nil {
		return d7Writer{}, errors.Join(err, f.Close())
	}
	return d7Writer{
		write: func(p []byte, off int64) error { return a.WriteAt(f, p, off) },
		close: func() error { return errors.Join(a.Close(), f.Close()) },
	}, nil
}

// writeWithSync opens a file for writes through the page cache.
func writeWithSync(path string) (d7Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_SYNC, 0)
	if err != nil {
		return d7Writer{}, err
	}
	return d7Writer{
		write: func(p []byte, off int64) error { _, err := f.WriteAt(p, off); return err },
		close: f.Close,
	}, nil
}

// runD7 writes random pages of one file from several jobs, each with a writer of its own.
func runD7(b *lab.B, jobs int, open func(path string) (d7Writer, error)) (err error) {
	// The file is written once before, so that no timed write allocates.
	if err := datafile.Fill("data", d7FileSize); err != nil {
		return err
	}
	writers, rngs := make([]d7Writer, jobs), make([]*rand.Rand, jobs)
	for i := range jobs {
		w, openErr := open("data")
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, w.close()) }()
		writers[i], rngs[i] = w, rand.New(rand.NewPCG(b.Rand.Uint64(), uint64(i)))
	}
	b.SetBytes(d7Page)
	return b.Parallel(jobs, func(w *lab.Worker) error {
		page := sys.AlignedBuffer(d7Page, d7Page)
		for w.Loop() {
			page[0]++
			off := rngs[w.ID].Int64N(d7FileSize/d7Page) * d7Page
			if err := writers[w.ID].write(page, off); err != nil {
				return err
			}
		}
		return nil
	})
}

func d7(jobs int) lab.Experiment {
	variant := func(name, doc string, open func(path string) (d7Writer, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: powerTorn, Run: inDir(func(b *lab.B) error { return runD7(b, jobs, open) })}
	}
	return lab.Experiment{
		Suite: "claims", Name: "D7", Params: run.Params{"jobs": strconv.Itoa(jobs)},
		Question: "Where does the throughput of synced random writes stop growing?",
		Op:       fmt.Sprintf("one durable random write of 4 KiB, by %d jobs", jobs),
		MaxOps:   20_000,
		Variants: firstIsBaseline(
			variant(variantAIO, "as described: io_submit and io_getevents, O_DIRECT and O_SYNC, one write in flight a job", writeWithAIO),
			variant(variantGoroutines, "pwrite from goroutines to a file opened with O_SYNC, through the page cache", writeWithSync)),
	}
}

func claimD7() Claim {
	return Claim{
		ID: "D7",
		Source: reportD.source("4.3",
			"Synced random writes stop growing at about 1,200 IOPS past 4 threads on ext4, 2,800 past 16 on XFS and 1,900 past 8 on APFS."),
		Statement:   "random 4 KiB writes, each synced, libaio, 1..32 jobs: where throughput stops growing, ext4, XFS, APFS",
		Claimed:     "about 1,200/s, knee past 4; 2,800, past 16; 1,900, past 8",
		Promise:     "power, torn, all variants: each write survives a power cut once it returns",
		Experiments: experiments(d7, d7Jobs...),
		Needs:       onExt4OrXFS,
		judge:       judgeD7,
	}
}

// enoughGain is the least gain of twice the jobs with which throughput still grows.
const enoughGain = 1.10

func judgeD7(ev *evidence) judgement {
	fs := ev.place.Environment.FS
	claimed := d7ClaimedKnee[fs]
	var text string
	var answers []answer
	for _, v := range []string{variantAIO, variantGoroutines} {
		times := make([]run.Estimate, len(d7Jobs))
		text += v + " by jobs:"
		for i, jobs := range d7Jobs {
			times[i] = ev.time(idOf(d7(jobs)), v)
			text += fmt.Sprintf(" %d: %.0f/s,", jobs, 1e9/times[i].Median)
		}
		lo, hi := knee(times)
		switch {
		case lo != hi:
			text += fmt.Sprintf(" knee between %d and %d jobs. ", lo, hi)
		case lo == d7Jobs[len(d7Jobs)-1]:
			text += fmt.Sprintf(" still growing at %d jobs. ", lo)
		default:
			text += fmt.Sprintf(" knee at %d jobs. ", lo)
		}
		answers = append(answers, within(run.Estimate{Lo: float64(lo), Hi: float64(hi)}, float64(claimed), float64(claimed)))
	}
	why := fmt.Sprintf("The knee is the first number of jobs at which twice as many gain less than %.0f %%; the claim for %s is %d. APFS cannot be tested on Linux.",
		100*(enoughGain-1), fs, claimed)
	return decide(text, why, "how the writes are issued", answers...)
}

// knee returns the least and the greatest number of jobs at which throughput may have
// stopped growing, by its intervals. The last number of jobs stands for all larger ones too.
func knee(times []run.Estimate) (lo, hi int) {
	last := len(d7Jobs) - 1
	for i, jobs := range d7Jobs[:last] {
		pays := atLeast(quotient(times[i], times[i+1]), enoughGain)
		if pays != yes && lo == 0 {
			lo = jobs
		}
		if pays == no {
			return lo, jobs
		}
	}
	if lo == 0 {
		lo = d7Jobs[last]
	}
	return lo, d7Jobs[last]
}
