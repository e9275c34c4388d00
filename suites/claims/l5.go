package claims

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L5.
const (
	l5Read       = "read"
	l5ReadSparse = "read, a byte of each page"
	l5Map        = "mapping"
	l5Sparse     = "mapping, a byte of each page"
)

// A block of the run has enough reads for a p99 of its own.
const (
	l5Block  = datafile.MiB
	l5File   = 512 * datafile.MiB
	l5Blocks = 320
)

var l5States = []string{datafile.Warm, datafile.Cold}

// l5 reads random blocks of a log file and times each.
func l5(s job.Scale, state string) lab.Experiment {
	prepare := (*datafile.File).Warm
	if state == datafile.Cold {
		prepare = (*datafile.File).Chill
	}
	type look = func([]byte) uint64
	variant := func(name, doc string, open func(f *datafile.File) (get func(off int64) ([]byte, error), end func() error, err error), at look) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return withNoise(b, s.Of(l5File), prepare, func(f *datafile.File) error {
				get, end, err := open(f)
				if err != nil {
					return err
				}
				return errors.Join(l5Blockwise(b, f.Size, get, at), end())
			})
		}}
	}
	byRead := func(f *datafile.File) (func(int64) ([]byte, error), func() error, error) {
		buf := make([]byte, l5Block)
		return func(off int64) ([]byte, error) { _, err := f.ReadAt(buf, off); return buf, err }, func() error { return nil }, nil
	}
	byMapping := func(f *datafile.File) (func(int64) ([]byte, error), func() error, error) {
		data, err := sys.Mmap(f.File, int(f.Size), false)
		return func(off int64) ([]byte, error) { return data[off : off+l5Block], nil }, func() error { return sys.Munmap(data) }, err
	}
	return lab.Experiment{
		Suite: "claims", Name: "L5", Params: run.Params{"state": state}, Question: "Are blocks of a log read faster from a mapping?",
		Op: "a random block of 1 MiB of a file " + datafile.StateText(state) + ", looked at", Ops: l5Blocks, MaxRounds: 10,
		Variants: firstIsBaseline(
			variant(l5Read, "A: ReadAt into one buffer, every byte looked at", byRead, datafile.SumWords),
			variant(l5ReadSparse, "A: ReadAt into one buffer, one byte of each page looked at", byRead, sumPages),
			variant(l5Map, "B: a mapping that is not populated, every byte looked at", byMapping, datafile.SumWords),
			variant(l5Sparse, "B: a mapping that is not populated, one byte of each page looked at", byMapping, sumPages)),
	}
}

// l5Blockwise reads the blocks of the file in a random order, each as often as the others.
func l5Blockwise(b *lab.B, size int64, get func(off int64) ([]byte, error), look func([]byte) uint64) error {
	order, clock, sum := b.Rand.Perm(int(size/l5Block)), job.NewTimer(), uint64(0)
	b.SetBytes(l5Block)
	for b.Loop() {
		begin := time.Now()
		block, err := get(int64(order[b.I()%int64(len(order))]) * l5Block)
		if err != nil {
			return err
		}
		sum += look(block)
		clock.Since(begin)
	}
	runtime.KeepAlive(sum)
	clock.Report(b, "read")
	return nil
}

// sumPages looks at one byte of each page.
func sumPages(p []byte) (sum uint64) {
	for i := 0; i < len(p); i += datafile.PageSize {
		sum += uint64(p[i])
	}
	return sum
}

func claimL5(s job.Scale) Claim {
	ids := map[string]string{}
	for _, state := range l5States {
		ids[state] = idOf(l5(s, state))
	}
	return Claim{
		ID: "L5",
		Source: reportL.source("2.5",
			"Blocks of 1 MB at random take 18.3 us (p99 64.1) from a mapping and 42.7 (218.5) by read."),
		Statement:   "1 MiB log block, random: read (A), mapping (B)",
		Claimed:     "p50 18.3 and 42.7 us; p99 64.1 and 218.5 us",
		Promise:     noneText,
		Experiments: experiments(func(state string) lab.Experiment { return l5(s, state) }, l5States...),
		judge:       func(ev *evidence) judgement { return judgeL5(ev, ids) },
	}
}

func judgeL5(ev *evidence, ids map[string]string) judgement {
	const median, tail = 42.7 / 18.3, 218.5 / 64.1
	var parts []part
	for _, state := range l5States {
		id := ids[state]
		for _, v := range []struct{ touched, read, mapped string }{
			{"all of it touched", l5Read, l5Map}, {"a byte a page touched", l5ReadSparse, l5Sparse},
		} {
			condition := v.touched + ", " + state
			parts = append(parts,
				claimed("p50, read against mapping", ev.ratioOf(id, "read_p50_ns", v.read, v.mapped), median).under(condition),
				claimed("p99, read against mapping", ev.ratioOf(id, "read_p99_ns", v.read, v.mapped), tail).under(condition))
			at := func(metric, v string) string { return nanos(ev.metric(id, v, metric)) }
			if ev.failed(id) == "" {
				parts = append(parts, figureOf("times, "+condition, fmt.Sprintf("read %s (p99 %s), mapping %s (p99 %s)",
					at("read_p50_ns", v.read), at("read_p99_ns", v.read), at("read_p50_ns", v.mapped), at("read_p99_ns", v.mapped))))
			}
		}
	}
	return ruling("The report does not say how much of a block is touched: 1 MiB in 18.3 us would be 57 GB/s, too fast for every byte. The mapping is not populated, as coded; warm pages are in the page cache, not in its page table.", parts...)
}
