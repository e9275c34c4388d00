package claims

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/memory"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L6.
const (
	l6One        = "1 process, 1 descriptor"
	l6Goroutines = "1 process, 1 descriptor, 10 goroutines"
	l6Shared     = "10 processes, 1 descriptor"
)

// The sizes of L6, which the claim does not give.
const (
	l6File      = 64 * datafile.MiB
	l6LeastFile = 16 * datafile.MiB // so that the limit is not lost in the memory of the processes
)

// An l6Load is a share of the file that the page cache may keep, and a rate of reads. With
// 90 % of the file about as many reads hit as in the claim.
type l6Load struct {
	cached float64
	rate   int // reads a second, of all readers together
}

var l6Loads = []l6Load{{0.9, 2_000}, {0.9, 10_000}, {0.5, 2_000}}

func (l l6Load) String() string {
	return fmt.Sprintf("page cache for %.0f %% of the file, %d reads a second", 100*l.cached, l.rate)
}

// reads returns the number of reads of a block: those of 150 ms.
func (l l6Load) reads(s job.Scale) int64 { return max(100, int64(l.rate)*15/100/int64(s)) }

// An l6Way is how many read at once.
type l6Way struct {
	name                  string
	processes, goroutines int
}

func (w l6Way) readers() int { return w.processes * w.goroutines }

func l6(s job.Scale, load l6Load) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L6", Params: run.Params{"cache": fmt.Sprintf("%.1f", load.cached), "rate": strconv.Itoa(load.rate)},
		Question: "Do processes that share a descriptor read faster?",
		Op: fmt.Sprintf("%d random reads of 4 KiB, %d of which are due in a second, of a file of which the page cache may keep %.0f %%",
			load.reads(1), load.rate, 100*load.cached),
		Ops: 1, MaxRounds: 8,
	}
	variant := func(w l6Way, doc string) lab.Variant {
		return lab.Variant{Name: w.name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			if os.Getenv(l6Child) != "" {
				return w.runChild(b, load)
			}
			return withNoise(b, max(s.Of(l6File), l6LeastFile), (*datafile.File).Chill, func(f *datafile.File) error {
				return w.run(b, &e, f, load, load.reads(s))
			})
		}}
	}
	e.Variants = firstIsBaseline(
		variant(l6Way{l6One, 1, 1}, "A: one read after the other"),
		variant(l6Way{l6Goroutines, 1, 10}, "A: as many reads at once as by the processes"),
		variant(l6Way{l6Shared, 10, 1}, "B: the children inherit the descriptor: they share one open file and its readahead"))
	return e
}

// run has processes read in a group of their own, whose page cache is limited once they have
// read the whole file and wait: so the memory of the processes takes nothing from it.
func (w l6Way) run(b *lab.B, e *lab.Experiment, f *datafile.File, load l6Load, reads int64) (err error) {
	group, err := memory.NewGroup(fmt.Sprintf("stele-l6-%d", os.Getpid()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	c, err := w.start(b, e, f, group.Dir(), reads)
	if err == nil {
		err = c.await()
	}
	if err == nil {
		err = l6Allow(group, f, load.cached)
	}
	for err == nil && b.Loop() {
		err = errors.Join(c.letGo(), c.await())
	}
	tallies, ended := c.end()
	if err = errors.Join(ended, err); err != nil {
		return err
	}
	reportL6(b, tallies)
	left, err := pagecache.Resident(f.File)
	b.Report("cached_share", float64(left)/float64(f.Size))
	return err
}

// l6Allow lets a group, which has read the whole file, keep a share of it in the page cache,
// beside the other memory that it uses.
func l6Allow(group *memory.Group, f *datafile.File, share float64) error {
	cached, err := pagecache.Resident(f.File)
	if err != nil {
		return err
	}
	used, err := group.Used()
	if err != nil {
		return err
	}
	want := int64(share * float64(f.Size))
	if err := group.Limit(used - cached + want); err != nil {
		return fmt.Errorf("limit the memory of the readers: %w", err)
	}
	left, err := pagecache.Resident(f.File)
	if off := max(left-want, want-left); err == nil && off > max(f.Size/20, datafile.MiB) {
		err = job.Unsupported("a limit of memory leaves %s of a file in the page cache, want %s", units.Decimal(float64(left)), units.Decimal(float64(want)))
	}
	return err
}

// reportL6 reports the mean latency of all reads and the share of hits. All readers have the
// same number of reads.
func reportL6(b *lab.B, tallies []l6Tally) {
	mean, hits := 0.0, 0.0
	var noHits error
	for _, t := range tallies {
		mean += t.mean / float64(len(tallies))
		hits += t.hits / float64(len(tallies))
		noHits = errors.Join(noHits, t.noHits)
	}
	b.Report("read_mean_ns", mean)
	if noHits != nil {
		b.ReportMissing("hit_share", noHits.Error())
		return
	}
	b.Report("hit_share", hits)
}

func claimL6(s job.Scale) Claim {
	return Claim{
		ID: "L6",
		Source: reportL.source("2.3",
			"Ten processes that share descriptors hit the page cache for 92.1 % of reads at 14.2 us, one process for 86.4 % at 18.9 us."),
		Statement:   "4 KiB random reads at one rate, of a file larger than the memory allowed: one process with one descriptor (A), ten processes that inherit it (B)",
		Claimed:     "14.2 us, 92.1 % page-cache hits; 18.9 us, 86.4 %",
		Promise:     noneText,
		Experiments: experiments(func(load l6Load) lab.Experiment { return l6(s, load) }, l6Loads...),
		Needs:       onDisk,
		judge:       judgeL6,
	}
}

// judgeL6 compares ten processes with one process as described and with as many reads at
// once as they have.
func judgeL6(ev *evidence) judgement {
	const faster, more = 18.9 / 14.2, (1 - 0.864) / (1 - 0.921)
	var parts []part
	for _, load := range l6Loads {
		id := idOf(l6(1, load))
		why := ev.failed(id)
		for _, one := range []struct{ how, name string }{{"one read at a time by the one process", l6One}, {"ten at a time by the one process", l6Goroutines}} {
			const mean, misses = "mean, one process against ten", "misses, one process against ten"
			condition := one.how + ", " + load.String()
			if why != "" {
				parts = append(parts, lacking(mean, why).under(condition), lacking(misses, why).under(condition))
				continue
			}
			parts = append(parts, claimed(mean, ev.ratioOf(id, "read_mean_ns", one.name, l6Shared), faster).under(condition),
				ev.l6Misses(misses, id, one.name, more).under(condition))
		}
		if why != "" {
			continue
		}
		for _, v := range []string{l6One, l6Goroutines, l6Shared} {
			mean, mark := ev.metric(id, v, "read_mean_ns"), "hits unknown"
			if hits, why := ev.known(id, v, "hit_share"); why == "" {
				mark = fmt.Sprintf("%.1f %% hits", 100*hits.Median)
			}
			parts = append(parts, figureOf(v+", "+load.String(), fmt.Sprintf("%s a read, %s, %.0f %% of the file in the page cache at the end",
				micros(mean), mark, 100*ev.metric(id, v, "cached_share").Median)))
		}
	}
	return ruling("A hit is a read whose page was in the page cache just before (cachestat). The processes are in a control group, and its page cache is limited after they have read the file once, so that the memory of ten processes takes nothing from it. Reads are due at random; the latency of one is its own time and the wait behind those of its reader that were due before. The page cache belongs to the file and serves all its readers alike; an open file has only its own readahead state."+ev.onProcessors(), parts...)
}

// l6Misses returns the part that asks for the ratio of the misses of one process to those of
// ten.
func (ev *evidence) l6Misses(what, id, one string, want float64) part {
	for _, v := range []string{one, l6Shared} {
		if _, why := ev.known(id, v, "hit_share"); why != "" {
			return lacking(what, "hits: "+why)
		}
	}
	fewer := ev.paired(id, one, l6Shared, func(b *run.Block) (float64, bool) {
		hits, ok := b.Metrics["hit_share"]
		return 1 - hits, ok
	})
	if fewer.N == 0 {
		misses := func(v string) run.Estimate { return complement(ev.metric(id, v, "hit_share")) }
		fewer = quotient(misses(one), misses(l6Shared))
	}
	return claimed(what, fewer, want)
}

// complement returns 1 - e.
func complement(e run.Estimate) run.Estimate {
	e.Median, e.Lo, e.Hi = 1-e.Median, 1-e.Hi, 1-e.Lo
	return e
}
