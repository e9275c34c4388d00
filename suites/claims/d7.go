package claims

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The variants of D7.
const (
	variantAIO       = "libaio, O_SYNC"
	variantWriteSync = "write, then fsync"
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

// writeWithAIO opens a file for writes by libaio, as the report's fio does: through the page
// cache, so that io_submit(2) returns once the write is done.
func writeWithAIO(path string) (d7Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_SYNC, 0)
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

// writeThenSync opens a file for writes that are followed by fsync(2), as the report tells it.
func writeThenSync(path string) (d7Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return d7Writer{}, err
	}
	return d7Writer{
		write: func(p []byte, off int64) error {
			if _, err := f.WriteAt(p, off); err != nil {
				return err
			}
			return f.Sync()
		},
		close: f.Close,
	}, nil
}

// runD7 writes random pages of one file from several jobs, each with a writer of its own.
func runD7(b *lab.B, jobs int, open func(path string) (d7Writer, error)) (err error) {
	// The file is written once before, so that no timed write allocates. Blocks share it and
	// write other bytes into it.
	const name = "data"
	dir, err := b.Shared("d7", func(dir string) error { return datafile.Fill(filepath.Join(dir, name), d7FileSize) })
	if err != nil {
		return err
	}
	writers, rngs := make([]d7Writer, jobs), make([]*rand.Rand, jobs)
	for i := range jobs {
		w, openErr := open(filepath.Join(dir, name))
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
		return lab.Variant{Name: name, Doc: doc, Promise: powerTorn, Run: onlyOn(func(b *lab.B) error { return runD7(b, jobs, open) }, "ext4", "xfs")}
	}
	return lab.Experiment{
		Suite: "claims", Name: "D7", Params: run.Params{"jobs": strconv.Itoa(jobs)},
		Question: "Where does the throughput of synced random writes stop growing?",
		Op:       fmt.Sprintf("one durable random write of 4 KiB, by %d jobs", jobs),
		MaxOps:   20_000, MaxRounds: 10,
		Variants: firstIsBaseline(
			variant(variantAIO, "as coded: io_submit and io_getevents through the page cache, O_SYNC, one write in flight a job", writeWithAIO),
			variant(variantWriteSync, "as meant: pwrite and fsync", writeThenSync)),
	}
}

func claimD7() Claim {
	return Claim{
		ID: "D7",
		Source: reportD.source("4.3",
			"Synced random writes stop growing at about 1,200 IOPS past 4 threads on ext4, 2,800 past 16 on XFS and 1,900 past 8 on APFS."),
		Statement:   "random 4 KiB writes, each synced, 1..32 jobs: rate, and where it stops growing, ext4, XFS, APFS",
		Claimed:     "about 1,200/s, knee past 4; 2,800, past 16; 1,900, past 8",
		Promise:     "power, torn, all variants: each write survives a power cut once it returns",
		Experiments: experiments(d7, d7Jobs...),
		Needs:       onExt4OrXFS,
		judgeAll:    judgeD7,
	}
}

// enoughGain is the least gain of twice the jobs with which throughput still grows.
const enoughGain = 1.10

// d7Ways are the ways to issue the writes.
var d7Ways = []struct{ name, how string }{{variantAIO, "as coded"}, {variantWriteSync, "as meant: write and fsync"}}

func judgeD7(all []*evidence) judgement {
	var parts []part
	for _, w := range d7Ways {
		for _, ev := range all {
			if onExt4OrXFS(ev.place.Environment) == "" {
				parts = append(parts, ev.d7Knee(w.name, w.how)...)
			}
		}
	}
	at, lack := firstOn(all, "ext4", "xfs")
	if lack == "" {
		lack = sameDisk(at["ext4"].place.Environment, at["xfs"].place.Environment)
	}
	const what = "the highest rate of XFS against that of ext4"
	for _, w := range d7Ways {
		if at["ext4"] == nil || at["xfs"] == nil {
			parts = append(parts, lacking(what, lack).under(w.how))
			continue
		}
		parts = append(parts, claimed(what, quotient(at["ext4"].d7Fastest(w.name), at["xfs"].d7Fastest(w.name)), 2800./1200).under(w.how).needs(lack))
	}
	parts = append(parts, lacking("knee of APFS at 8 jobs, each within a factor 2", "macOS"))
	return ruling(fmt.Sprintf("The knee is the first number of jobs at which twice as many gain less than %.0f %%.", 100*(enoughGain-1))+writeCaches(all), parts...)
}

func (ev *evidence) d7Times(v string) []run.Estimate {
	times := make([]run.Estimate, len(d7Jobs))
	for i, jobs := range d7Jobs {
		times[i] = ev.time(idOf(d7(jobs)), v)
	}
	return times
}

// d7Fastest returns the shortest time of a write over all numbers of jobs.
func (ev *evidence) d7Fastest(v string) run.Estimate {
	times := ev.d7Times(v)
	return slices.MinFunc(times, func(a, b run.Estimate) int { return cmp.Compare(a.Median, b.Median) })
}

// d7Knee returns the parts on where a file system stops growing.
func (ev *evidence) d7Knee(v, how string) []part {
	fs := ev.place.Environment.FS
	claimed := float64(d7ClaimedKnee[fs])
	times := ev.d7Times(v)
	text := ""
	for i, jobs := range d7Jobs {
		text += fmt.Sprintf(" %d: %.0f/s,", jobs, 1e9/times[i].Median)
	}
	lo, hi := knee(times)
	at, beyond := units.Count(lo, "job"), ""
	switch last := d7Jobs[len(d7Jobs)-1]; {
	case lo > last:
		// The knee may be at the last number of jobs, or past it.
		lo, at = last, fmt.Sprintf("none below %d jobs", last)
		beyond = fmt.Sprintf("throughput still grows up to %d jobs, the most that were tried", last)
	case hi > last:
		at += " or more"
	case lo != hi:
		at = fmt.Sprintf("between %d and %d jobs", lo, hi)
	}
	e := run.Estimate{Median: float64(lo), Lo: float64(lo), Hi: float64(hi), N: times[0].N}
	if times[0].Median != times[0].Median {
		e = noEstimate
	}
	p := inRange(fmt.Sprintf("%s's knee at %.0f jobs", fs, claimed), e, claimed/2, claimed*2, at, fmt.Sprintf("want %.0f to %.0f", claimed/2, claimed*2))
	if p.answer == cannotTell {
		p = p.undecided(beyond)
	}
	return []part{
		p.under(how + ", " + ev.place.Name),
		figureOf(fmt.Sprintf("%s by jobs (%s)", ev.place.Name, how), text[1:max(1, len(text)-1)]),
	}
}

// knee returns the least and the greatest number of jobs at which throughput may have
// stopped growing, by its intervals. Where the tried ones do not show it, that is twice the
// last number of jobs.
func knee(times []run.Estimate) (lo, hi int) {
	last := len(d7Jobs) - 1
	beyond := 2 * d7Jobs[last]
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
		lo = beyond
	}
	return lo, beyond
}
