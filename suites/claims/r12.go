package claims

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The volume of R12 has the limits that every gp3 has.
const (
	r12IOPS     = 3000
	r12Bytes    = 125 << 20 // a second
	r12File     = 64 << 20
	r12Most     = 50e6                  // nanoseconds, the claimed limit
	r12Burst    = 25 * time.Millisecond // how long the volume takes for a burst
	r12Requests = 300                   // least in a load: enough for a p99
	r12Least    = 400 * time.Millisecond
)

// The clients of R12.
const (
	r12Free  = "not paced"
	r12Paced = "paced"
)

// An r12Load is a stream of requests whose arrivals do not wait for answers.
type r12Load struct {
	size   int     // bytes of a request
	share  float64 // of the volume's limit
	bursts bool    // requests come in bursts
}

// r12Loads end with those above the limit, which are shown: there any queue grows.
var r12Loads = []r12Load{
	{16 << 10, 0.5, false}, {256 << 10, 0.5, false}, {16 << 10, 0.5, true}, {256 << 10, 0.5, true},
	{16 << 10, 0.9, false}, {256 << 10, 0.9, false}, {16 << 10, 0.9, true}, {256 << 10, 0.9, true},
	{16 << 10, 1.2, false}, {256 << 10, 1.2, false},
}

func (l r12Load) String() string {
	how := "steady"
	if l.bursts {
		how = "in bursts"
	}
	return fmt.Sprintf("%s, %.1f of the limit, %s", units.Size(int64(l.size)), l.share, how)
}

// limit returns the requests a second that the volume serves.
func (l r12Load) limit() float64 { return min(r12IOPS, r12Bytes/float64(l.size)) }

func (l r12Load) key() string {
	return fmt.Sprintf("%d_%.1f_%s", l.size, l.share, map[bool]string{false: "steady", true: "bursts"}[l.bursts])
}

func (l r12Load) tail() string     { return "p99_" + l.key() + "_ns" }
func (l r12Load) attained() string { return "rate_" + l.key() }

// arrivals returns when n requests or more come, by a Poisson process of requests or of
// bursts. random is from 0 to 1.
func (l r12Load) arrivals(n int, random func() float64) (due []time.Duration) {
	burst := 1
	if l.bursts {
		burst = int(l.limit() * r12Burst.Seconds())
	}
	mean := float64(burst) / (l.share * l.limit()) // seconds
	at := 0.0
	for len(due) < n {
		at += -math.Log(1-random()) * mean
		for range burst {
			due = append(due, time.Duration(at*1e9))
		}
	}
	return due
}

// requests returns how many requests a load has, of which least are wanted.
func (l r12Load) requests(least int) int {
	n := int(l.share * l.limit() * r12Least.Seconds())
	if l.bursts {
		n = int(20 * l.limit() * r12Burst.Seconds())
	}
	if least < r12Requests { // a test
		return least
	}
	return max(n, least)
}

// A client makes a request: wait is called before it, and told after it how long it took.
type client struct {
	wait func(b *lab.B, n int) error
	told func(n int, took time.Duration)
}

func unpacedClient() (client, error) {
	return client{func(*lab.B, int) error { return nil }, func(int, time.Duration) {}}, nil
}

// pacedClient keeps to both limits of the volume, and to less while its latency shows a queue:
// its rate falls by a factor each time, which is exponential backoff.
func pacedClient() (client, error) {
	lim, err := pace.NewAdaptive(pace.Profile{IOPS: r12IOPS, BytesPerSecond: r12Bytes}, pace.AdaptOptions{})
	if err != nil {
		return client{}, err
	}
	return client{func(b *lab.B, n int) error { return lim.Wait(b.Context(), n) }, lim.ObserveWrite}, nil
}

func r12() lab.Experiment {
	variant := func(name, doc string, client func() (client, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: func(b *lab.B) error {
			least, err := job.Int(b, "requests", 1, 1<<20)
			if err != nil {
				return err
			}
			return onVolume(b, func(f *os.File) error {
				for b.Loop() {
					for _, l := range r12Loads {
						c, err := client()
						if err != nil {
							return err
						}
						if err := l.run(b, f, least, c); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R12", Params: run.Params{"requests": strconv.Itoa(r12Requests)},
		Question: "What does a client that paces itself gain on a limited volume?",
		Op:       "ten loads of direct random writes, whose arrivals do not wait for answers, on a volume that the kernel holds to 3,000 requests and 125 MiB a second",
		Ops:      1, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			variant(r12Free, "A: each request goes to the volume as it comes", unpacedClient),
			variant(r12Paced, "B: all requests together keep to the volume's limits, and to less while it has a queue", pacedClient)),
	}
}

// onVolume calls use with a file, opened for direct I/O, on an ext4 image with the limits of
// a gp3.
func onVolume(b *lab.B, use func(f *os.File) error) (err error) {
	p, err := scratch.Image(b.Context(), scratch.Options{
		FS: "ext4", Size: 256 << 20, Store: b.Dir, Limit: scratch.Limit{IOPS: r12IOPS, BytesPerSecond: r12Bytes},
	})
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
	return errors.Join(use(f), f.Close())
}

// run makes the requests of a load, each when it is due, and reports the 99th percentile of
// the time from then to its answer: the wait in the client counts, and so does lateness.
func (l r12Load) run(b *lab.B, f *os.File, least int, c client) error {
	due := l.arrivals(l.requests(least), b.Rand.Float64)
	at := make([]int64, len(due))
	for i := range at {
		at[i] = b.Rand.Int64N(int64(r12File/l.size)) * int64(l.size)
	}
	data := sys.AlignedBuffer(l.size, datafile.PageSize)
	took, errs := make([]float64, len(due)), make([]error, len(due))
	var all sync.WaitGroup
	begun := time.Now()
	for i, d := range due {
		if wait := d - time.Since(begun); wait > 0 {
			time.Sleep(wait)
		}
		if b.Context().Err() != nil {
			break
		}
		all.Go(func() {
			if errs[i] = c.wait(b, l.size); errs[i] != nil {
				return
			}
			issued := time.Now()
			_, errs[i] = f.WriteAt(data, at[i])
			c.told(l.size, time.Since(issued))
			took[i] = float64(time.Since(begun) - d)
		})
	}
	all.Wait()
	b.Report(l.attained(), float64(len(due))/time.Since(begun).Seconds())
	if err := stats.CheckPercentile(99, int64(len(took)), 0.95); err != nil {
		b.ReportMissing(l.tail(), err.Error())
	} else {
		slices.Sort(took)
		b.Report(l.tail(), stats.Quantile(took, 0.99))
	}
	return errors.Join(append(errs, b.Context().Err())...)
}

func claimR12() Claim {
	e := r12()
	return Claim{
		ID: "R12",
		Source: reportR.source("3.1, Flow control",
			"A client that paces itself to a gp3 volume's limits keeps latency at 50 ms or less."),
		Statement:   "a client that paces itself under a volume's limits (B) against one that does not (A), at 0.5, 0.9 and 1.2 of them, steady and in bursts; arrivals do not wait for answers",
		Claimed:     "B keeps latency at 50 ms or less",
		Promise:     "kill, torn, both: a write is on the device, whose cache is not flushed",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR12(ev, e.ID()) },
	}
}

// judgeR12 asks of the loads below the limit whether the paced client keeps to 50 ms at each,
// and whether the other one exceeds them at any: else pacing has gained nothing.
func judgeR12(ev *evidence, id string) judgement {
	p99 := func(l r12Load, client string) run.Estimate { return ev.metric(id, client, l.tail()) }
	var parts, free []part
	var slow []string
	for _, l := range r12Loads {
		paced := most("p99 of the paced client", p99(l, r12Paced), r12Most, lastingIn).under(l.String())
		unpaced := inRange("p99 of the client that does not pace itself, at one load below the limit", p99(l, r12Free), r12Most, math.Inf(1), lastingIn(p99(l, r12Free)), "want more than 50.0 ms").under(l.String())
		if l.share > 1 {
			// Above the limit the volume serves what it can: as much as the limit, if the disk
			// under it is fast enough.
			if rate := ev.metric(id, r12Free, l.attained()).Median; rate < 0.9*l.limit() {
				slow = append(slow, fmt.Sprintf("a device that serves %.0f requests of %s a second; this one served %.0f", l.limit(), units.Size(int64(l.size)), rate))
			}
			parts = append(parts, paced.onlyShown())
			unpaced.what = "p99 of the client that does not pace itself"
			parts = append(parts, unpaced.onlyShown())
			continue
		}
		parts, free = append(parts, paced), append(free, unpaced)
	}
	// One load is enough: a clear one, or the one where it is longest.
	decided := map[answer]int{yes: 3, cannotTell: 2, untested: 1}
	parts = append(parts, slices.MaxFunc(free, func(a, b part) int {
		return cmp.Or(decided[a.answer]-decided[b.answer], cmp.Compare(a.est.Median, b.est.Median))
	}))
	for i := range parts {
		parts[i] = parts[i].needs(joined(slow))
	}
	return ruling("Arrivals are Poisson, of requests or of bursts that the volume takes 25 ms for. A request's time counts from its arrival, so the wait inside the client counts. The volume is an ext4 image on a loop device that the kernel holds to 3,000 requests and 125 MiB a second, writes; a cloud volume's own latency is not simulated. Pacing moves the queue from the volume into the client: it gains only what the volume's own queue loses.", parts...)
}
