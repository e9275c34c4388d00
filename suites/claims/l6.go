package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L6.
const (
	l6Shared     = "10 processes, 1 descriptor"
	l6Own        = "10 processes, a descriptor each"
	l6One        = "1 process, 1 descriptor"
	l6Goroutines = "1 process, 1 descriptor, 10 goroutines"
)

// The sizes of L6, which the claim does not give.
const (
	l6File    = 256 * datafile.MiB
	l6Warm    = 0.85   // of the file in the page cache at first: between the claimed shares of hits
	l6Reads   = 20_000 // of an operation
	l6Workers = 10
)

// l6Child marks a child in its environment. Its value is the file that the child opens
// itself, or l6HandedDown.
const (
	l6Child      = "STELE_L6_CHILD"
	l6HandedDown = "-"
)

// The descriptors that a child begins with, after the standard ones.
const (
	l6Data = 3 // the file: one open file, with one readahead state, for all children
	l6Gate = 4 // ends when they may begin
	l6Told = 5 // takes a byte from a child that is ready, and one from a child that has read
)

// An l6Tally sums up the reads of one reader.
type l6Tally struct {
	mean float64 // nanoseconds a read
	disk int64   // bytes read from the disk
	noIO error   // why disk is unknown
}

func l6(s job.Scale) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L6", Question: "Do processes that share a descriptor read faster?",
		Op:  "20,000 random reads of 4 KiB in a file with 85 % in the page cache at first",
		Ops: 1, MaxRounds: 10,
	}
	variant := func(name, doc string, read func(b *lab.B, f *datafile.File) ([]l6Tally, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			if os.Getenv(l6Child) != "" {
				return runL6Child(b)
			}
			warm := func(f *datafile.File) error { return f.WarmPart(l6Warm) }
			return withNoise(b, s.Of(l6File), warm, func(f *datafile.File) error {
				tallies, err := read(b, f)
				if err == nil {
					reportL6(b, tallies)
				}
				return err
			})
		}}
	}
	e.Variants = firstIsBaseline(
		variant(l6One, "B: one read after the other",
			func(b *lab.B, f *datafile.File) ([]l6Tally, error) { return readL6(b, f, 1) }),
		variant(l6Goroutines, "as many reads at once as by the processes",
			func(b *lab.B, f *datafile.File) ([]l6Tally, error) { return readL6(b, f, l6Workers) }),
		variant(l6Shared, "A: the children inherit the descriptor: they share one open file and its readahead",
			func(b *lab.B, f *datafile.File) ([]l6Tally, error) {
				return readL6InChildren(b, &e, l6Shared, f, l6HandedDown)
			}),
		variant(l6Own, "each process opens the file for itself",
			func(b *lab.B, f *datafile.File) ([]l6Tally, error) {
				return readL6InChildren(b, &e, l6Own, f, f.Name())
			}))
	return e
}

// reportL6 reports the mean of all readers and the share of hits.
func reportL6(b *lab.B, tallies []l6Tally) {
	mean, disk := 0.0, int64(0)
	var noIO error
	for _, t := range tallies {
		mean += t.mean / float64(len(tallies)) // all have the same number of reads
		disk += t.disk
		noIO = errors.Join(noIO, t.noIO)
	}
	b.Report("read_mean_ns", mean)
	if noIO != nil {
		b.ReportMissing("hit_share", noIO.Error())
		return
	}
	b.Report("hit_share", 1-float64(disk)/(l6Reads*datafile.PageSize))
}

// readPages reads n random pages.
func readPages(f *os.File, size int64, n int, rng *rand.Rand) (mean float64, err error) {
	clock, page := job.NewTimer(), make([]byte, datafile.PageSize)
	for range n {
		off := rng.Int64N(size/datafile.PageSize) * datafile.PageSize
		begin := time.Now()
		if _, err := f.ReadAt(page, off); err != nil {
			return 0, err
		}
		clock.Since(begin)
	}
	return clock.Hist.Mean(), nil
}

// readL6 reads in this process.
func readL6(b *lab.B, f *datafile.File, goroutines int) ([]l6Tally, error) {
	tallies, errs := make([]l6Tally, goroutines), make([]error, goroutines)
	var disk int64
	var noIO error
	for b.Loop() {
		disk, noIO = diskReads(func() {
			var all sync.WaitGroup
			for i := range tallies {
				rng := rand.New(rand.NewPCG(b.Rand.Uint64(), 0))
				all.Go(func() { tallies[i].mean, errs[i] = readPages(f.File, f.Size, l6Reads/goroutines, rng) })
			}
			all.Wait()
		})
	}
	tallies[0].disk, tallies[0].noIO = disk, noIO
	return tallies, errors.Join(errs...)
}

// readL6InChildren has l6Workers processes read at once.
func readL6InChildren(b *lab.B, e *lab.Experiment, name string, f *datafile.File, open string) ([]l6Tally, error) {
	c, err := startL6Children(b, e, name, f, open)
	if err == nil {
		err = c.await()
	}
	for err == nil && b.Loop() {
		err = errors.Join(c.letGo(), c.await())
	}
	tallies, ended := c.end()
	return tallies, errors.Join(ended, err)
}

// l6Children are the processes that read.
type l6Children struct {
	list []*exec.Cmd
	outs [l6Workers]bytes.Buffer
	gate *os.File // holds the children back until it is closed
	told *os.File // has a byte for each that is ready, and one for each that has read
}

// startL6Children starts the children. If it fails, c has those that were started.
func startL6Children(b *lab.B, e *lab.Experiment, name string, f *datafile.File, open string) (c *l6Children, err error) {
	c = new(l6Children)
	theirGate, gate, err := os.Pipe()
	if err != nil {
		return c, err
	}
	c.gate = gate
	told, tell, err := os.Pipe()
	if err != nil {
		return c, errors.Join(err, theirGate.Close())
	}
	c.told = told
	// Only the children keep these ends open: if all exit early, await reads the end.
	defer func() { err = errors.Join(err, theirGate.Close(), tell.Close()) }()
	for i := range c.outs {
		child, err := lab.Child(b.Context(), e, name, b.Dir, l6Reads/l6Workers, b.Rand.Uint64())
		if err != nil {
			return c, err
		}
		child.Env = append(child.Env, l6Child+"="+open)
		child.ExtraFiles = []*os.File{l6Data - 3: f.File, l6Gate - 3: theirGate, l6Told - 3: tell}
		child.Stdout, child.Stderr = &c.outs[i], new(bytes.Buffer)
		if err := child.Start(); err != nil {
			return c, err
		}
		c.list = append(c.list, child)
	}
	return c, nil
}

// await waits for a byte from each child.
func (c *l6Children) await() error {
	if _, err := io.ReadFull(c.told, make([]byte, l6Workers)); err != nil {
		return fmt.Errorf("wait for the reading processes: %w", err)
	}
	return nil
}

func (c *l6Children) letGo() error {
	gate := c.gate
	c.gate = nil
	return gate.Close()
}

// end waits for the children and returns their tallies.
func (c *l6Children) end() (tallies []l6Tally, err error) {
	if c.gate != nil {
		err = c.letGo()
	}
	if c.told != nil {
		err = errors.Join(err, c.told.Close())
	}
	var first error // the others mostly fail alike
	for i, child := range c.list {
		failed := child.Wait()
		if failed != nil {
			failed = fmt.Errorf("reading process: %w: %s", failed, child.Stderr)
		} else {
			var t l6Tally
			t, failed = l6TallyOf(c.outs[i].Bytes())
			tallies = append(tallies, t)
		}
		if first == nil {
			first = failed
		}
	}
	return tallies, errors.Join(err, first)
}

// runL6Child reads in a child.
func runL6Child(b *lab.B) error {
	f, gate, told := os.NewFile(l6Data, "data"), os.NewFile(l6Gate, "gate"), os.NewFile(l6Told, "told")
	if name := os.Getenv(l6Child); name != l6HandedDown {
		var err error
		if f, err = os.Open(name); err != nil {
			return err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := told.Write([]byte{'r'}); err != nil {
		return err
	}
	if _, err := gate.Read(make([]byte, 1)); err != io.EOF {
		return fmt.Errorf("wait for the start: %v", err)
	}
	page, size := make([]byte, datafile.PageSize), info.Size()
	clock := job.NewTimer()
	disk, noIO := diskReads(func() {
		for b.Loop() {
			off := b.Rand.Int64N(size/datafile.PageSize) * datafile.PageSize
			begin := time.Now()
			if _, err = f.ReadAt(page, off); err != nil {
				return
			}
			clock.Since(begin)
		}
	})
	if err != nil {
		return err
	}
	if _, err := told.Write([]byte{'d'}); err != nil {
		return err
	}
	b.Report("read_mean_ns", clock.Hist.Mean())
	if noIO != nil {
		b.ReportMissing("disk_bytes", noIO.Error())
		return nil
	}
	b.Report("disk_bytes", float64(disk))
	return nil
}

func l6TallyOf(output []byte) (l6Tally, error) {
	var block run.Block
	if err := json.Unmarshal(output, &block); err != nil {
		return l6Tally{}, fmt.Errorf("parse the report of a reading process: %w", err)
	}
	if block.Error != "" {
		return l6Tally{}, errors.New(block.Error)
	}
	t := l6Tally{mean: block.Metrics["read_mean_ns"], disk: int64(block.Metrics["disk_bytes"])}
	if why := report.Reason(block.Missing["disk_bytes"]); why != "" {
		t.noIO = errors.New(why)
	}
	return t, nil
}

// diskReads returns how many bytes this process reads from a disk during do, readahead
// included (proc_pid_io(5)).
func diskReads(do func()) (int64, error) {
	before, err := ownDiskReads()
	do()
	if err != nil {
		return 0, err
	}
	after, err := ownDiskReads()
	return after - before, err
}

func ownDiskReads() (n int64, err error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, fmt.Errorf("count the I/O of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "read_bytes: "); ok {
			_, err = fmt.Sscan(rest, &n)
			return n, err
		}
	}
	return 0, errors.New("/proc/self/io has no read_bytes")
}

func claimL6(s job.Scale) Claim {
	e := l6(s)
	return Claim{
		ID: "L6",
		Source: reportL.source("2.3",
			"Ten processes that share descriptors hit the page cache for 92.1 % of reads at 14.2 us, one process for 86.4 % at 18.9 us."),
		Statement:   "4 KiB random reads: ten processes sharing re-used descriptors (A), one process with one (B)",
		Claimed:     "14.2 us, 92.1 % page-cache hits; 18.9 us, 86.4 %",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeL6(ev, e.ID(), s.Of(l6File)) },
	}
}

// judgeL6 compares ten processes with one process as described and with as many reads at
// once as they have.
func judgeL6(ev *evidence, id string, size int64) judgement {
	const faster, more = 18.9 / 14.2, (1 - 0.864) / (1 - 0.921)
	var parts []part
	for _, one := range []struct{ how, name string }{{"one read at a time by the one process", l6One}, {"ten at a time by the one process", l6Goroutines}} {
		parts = append(parts, claimed("mean, one process against ten", ev.ratioOf(id, "read_mean_ns", one.name, l6Shared), faster).under(one.how))
		_, noHits := ev.known(id, l6Shared, "hit_share")
		fewer := ev.paired(id, one.name, l6Shared, func(b *run.Block) (float64, bool) {
			hits, ok := b.Metrics["hit_share"]
			return 1 - hits, ok
		})
		if misses := func(v string) run.Estimate { return complement(ev.metric(id, v, "hit_share")) }; fewer.N == 0 && noHits == "" {
			fewer = quotient(misses(one.name), misses(l6Shared))
		}
		parts = append(parts, claimed("misses, one process against ten", fewer, more).under(one.how).needs(noHits))
	}
	for _, v := range []string{l6Shared, l6Own, l6One, l6Goroutines} {
		if hits, why := ev.known(id, v, "hit_share"); why == "" {
			parts = append(parts, figureOf(v, fmt.Sprintf("%s a read, %.1f %% hits, %.0f reads/ms",
				nanos(ev.metric(id, v, "read_mean_ns")), 100*hits.Median, l6Reads*1e6/ev.time(id, v).Median)))
		}
	}
	return ruling("A hit is a read that needs nothing from the disk (read_bytes in /proc/self/io). The page cache belongs to the file and serves all its readers alike; an open file has only its own readahead state. The memory is not limited: 85 % of the file is in the page cache at first."+ev.smaller(id, l6One, size), parts...)
}

// complement returns 1 - e.
func complement(e run.Estimate) run.Estimate {
	e.Median, e.Lo, e.Hi = 1-e.Median, 1-e.Hi, 1-e.Lo
	return e
}
