package claims

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The volume of R12 and its client. It is slow, so that a block is short: the client only
// has to request more than the volume serves.
const (
	r12IOPS       = 200
	r12Share      = 0.9 // of the limit, the most that the paced client requests
	r12Goroutines = 32
	r12Ops        = 320
	r12Page       = 4 << 10
	r12File       = 4 << 20
	r12Most       = 50e6 // nanoseconds
)

const (
	r12Free  = "not paced"
	r12Paced = "paced"
)

// Metrics of R12, 99th percentiles in nanoseconds: the time of a request in the volume, and
// its time for the caller, with the client's own queue.
const (
	r12Volume = "volume_p99_ns"
	r12Caller = "caller_p99_ns"
)

func r12() lab.Experiment {
	variant := func(name, doc string, paced bool) lab.Variant {
		return lab.Variant{
			Name: name, Doc: doc, Promise: keptTorn, Baseline: !paced,
			Run: func(b *lab.B) (err error) {
				p, err := scratch.Image(b.Context(), scratch.Options{FS: "ext4", Size: 64 << 20, Store: b.Dir, Limit: scratch.Limit{IOPS: r12IOPS}})
				if err != nil {
					return fmt.Errorf("make a limited volume, which needs root: %w: %w", errors.ErrUnsupported, err)
				}
				defer func() { err = errors.Join(err, p.Close()) }()
				name := filepath.Join(p.Path, "data")
				if err := datafile.Fill(name, r12File); err != nil {
					return err
				}
				f, err := fileop.OpenDirect(name)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				wait := func(context.Context, int) error { return nil }
				if paced {
					// Without a burst every request waits.
					wait = pace.New(pace.Profile{IOPS: r12Share * r12IOPS, BurstOps: 1}).Wait
				}
				return r12Client(b, f, wait)
			},
		}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R12", Question: "What does a client that paces itself gain on a limited volume?",
		Op:  fmt.Sprintf("a direct random write of 4 KiB, by %d goroutines, on a volume that the kernel limits to %d a second", r12Goroutines, r12IOPS),
		Ops: r12Ops, MaxRounds: 8,
		Variants: []lab.Variant{
			variant(r12Free, "each goroutine writes as soon as it can (A)", false),
			variant(r12Paced, fmt.Sprintf("all goroutines together keep under %.0f %% of the limit (B)", 100*r12Share), true),
		},
	}
}

// r12Client writes from many goroutines, each of which waits first.
func r12Client(b *lab.B, f *os.File, wait func(context.Context, int) error) error {
	var (
		mu             sync.Mutex
		volume, caller []float64
	)
	seeds := make([]uint64, r12Goroutines)
	for i := range seeds {
		seeds[i] = b.Rand.Uint64()
	}
	b.SetBytes(r12Page)
	err := b.Parallel(r12Goroutines, func(w *lab.Worker) error {
		page := sys.AlignedBuffer(r12Page, r12Page)
		rng := rand.New(rand.NewPCG(seeds[w.ID], 0))
		for w.Loop() {
			asked := time.Now()
			if err := wait(b.Context(), r12Page); err != nil {
				return err
			}
			begun := time.Now()
			if _, err := f.WriteAt(page, rng.Int64N(r12File/r12Page)*r12Page); err != nil {
				return err
			}
			done := time.Now()
			mu.Lock()
			volume = append(volume, float64(done.Sub(begun)))
			caller = append(caller, float64(done.Sub(asked)))
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := stats.CheckPercentile(99, int64(len(volume)), 0.95); err != nil {
		b.ReportMissing(r12Volume, err.Error())
		b.ReportMissing(r12Caller, err.Error())
		return nil
	}
	p99 := func(of []float64) float64 {
		slices.Sort(of)
		return of[len(of)*99/100]
	}
	b.Report(r12Volume, p99(volume))
	b.Report(r12Caller, p99(caller))
	return nil
}

func claimR12() Claim {
	e := r12()
	return Claim{
		ID: "R12",
		Source: reportR.source("3.1, Flow control",
			"A client that paces itself to a gp3 volume's limits keeps latency at 50 ms or less."),
		Statement:   "a client that paces itself under a volume's limits (B) against one that does not (A)",
		Claimed:     "B keeps latency under 50 ms",
		Promise:     "kill, torn, both: a write is on the device, whose cache is not flushed",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR12(ev, e.ID()) },
	}
}

func judgeR12(ev *evidence, id string) judgement {
	under := func(e run.Estimate) answer { return within(e, 0, r12Most) }
	freeVolume, pacedVolume := ev.metric(id, r12Free, r12Volume), ev.metric(id, r12Paced, r12Volume)
	freeCaller, pacedCaller := ev.metric(id, r12Free, r12Caller), ev.metric(id, r12Paced, r12Caller)
	text := fmt.Sprintf("p99 of a request in the volume: A %s, B %s; for its caller: A %s, B %s.",
		lasting(freeVolume), lasting(pacedVolume), lasting(freeCaller), lasting(pacedCaller))
	why := fmt.Sprintf("The volume is an ext4 image that the kernel limits to %d requests a second; %d goroutines want more, and B keeps all of them together under %.0f %% of it. B's p99 had to be under 50 ms, in the volume and for the caller, and A's over it. A cloud volume's own latency is not simulated.",
		r12IOPS, r12Goroutines, 100*r12Share)
	over := func(e run.Estimate) answer { return atLeast(e, r12Most) }
	return decide(text, why, "where latency is measured: pacing moves the queue from the volume into the client",
		over(freeVolume), under(pacedVolume), under(pacedCaller))
}
