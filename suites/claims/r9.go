package claims

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

// Surfaces of R9: what threads and depth may mean.
const (
	r9Deep     = "128 reads in flight, shared by the threads"
	r9Shallow  = "32 reads in flight, shared by the threads"
	r9Blocking = "threads that wait for each read"
)

// r9Readings are the surfaces with the depth for the formula. A thread that waits has one
// read in flight: then the depth is that of the device, 128 as in the report's NVMe.
var r9Readings = []struct {
	surface  string
	depth    int
	blocking bool
}{{r9Deep, 128, false}, {r9Shallow, 32, false}, {r9Blocking, 128, true}}

func r9Formula(depth int) int { return min(16, depth/4) }

func r9() lab.Experiment {
	j := rw.Surface{Size: rw.QuickFile, Promise: job.NothingWritten()}
	e := j.Experiment("read", rw.QuickFile, "4 KiB read past the page cache at a random page")
	e.Suite, e.Name, e.Params = "claims", "R9", nil
	e.Question = "How many threads reach the full throughput of random reads?"
	for _, reading := range r9Readings {
		for _, threads := range []int{1, 2, 4, 8, 16, 32, 64} {
			var v lab.Variant
			switch {
			case reading.blocking:
				v = j.Blocking(reading.surface, threads)
			case threads > reading.depth/2: // with one read a thread it is the third reading
				continue
			default:
				v = j.Rings(reading.surface, threads, reading.depth/threads)
				v.Name = fmt.Sprintf("io_uring, %d in flight, %d threads", reading.depth, threads)
			}
			v.Cell = &run.Cell{Surface: reading.surface, XName: "threads", X: threads, Y: 1, Latency: rw.RequestP50}
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

func claimR9() Claim {
	e := r9()
	return Claim{
		ID: "R9",
		Source: reportR.source("4.2",
			"Random 4K reads of NVMe at depth 128 reach 215k IOPS with 8 threads, 258k with 16 and 262k with 32, so threads = min(16, depth/4), and depth/8 on SATA."),
		Statement:   "random 4 KiB reads by threads, NVMe at depth 128, SATA at 32: knee",
		Claimed:     "215k at 8, 258k at 16, 262k at 32 threads; threads = min(16, depth/4), SATA at most depth/8",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR9(ev, e.ID()) },
	}
}

// judgeR9 compares the knee of each reading with that of the formula. The rule gives the knee
// of the report's figures too: 215 is 82 % of 262, 258 is 98 %.
func judgeR9(ev *evidence, id string) judgement {
	text := "On " + deviceText(ev) + ". "
	var answers []answer
	for _, reading := range r9Readings {
		claimed := float64(r9Formula(reading.depth))
		knee, list := ev.knee(id, reading.surface)
		text += fmt.Sprintf("%s: %s; %s, the formula says %.0f. ", upperFirst(reading.surface), list, kneeText(knee), claimed)
		answers = append(answers, within(knee, claimed, claimed))
	}
	return decide(text,
		"The knee is the smallest number of threads with 95 % of the best throughput. As described, threads share the reads in flight (io_uring, each with its part); as meant, each waits for its own read. The rule for SATA needs a SATA disk.",
		"how the reads are issued, and how many are in flight", answers...)
}

// knee returns the first and the last X at which the knee of a surface may be, and the list
// of its cells.
func (ev *evidence) knee(id, surface string) (knee run.Estimate, list string) {
	r := ev.results[id]
	if r == nil {
		ev.miss("no result of %s", id)
		return noEstimate, "not measured"
	}
	var s *run.Surface
	for i := range r.Surfaces {
		if r.Surfaces[i].Name == surface {
			s = &r.Surfaces[i]
		}
	}
	if s == nil || s.Best == "" {
		why := "it was not measured"
		for _, v := range r.Variants {
			if v.Cell != nil && v.Cell.Surface == surface && v.Error != "" {
				why = v.Error
			}
		}
		ev.miss("%s of %s: %s", surface, id, why)
		return noEstimate, "not measured"
	}
	knee = run.Estimate{Lo: noEstimate.Lo, Hi: noEstimate.Hi}
	var cells []string
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Cell == nil || v.Cell.Surface != surface || v.Time.N == 0 {
			continue
		}
		cells = append(cells, fmt.Sprintf("%d: %.0f/s", v.Cell.X, 1e9/v.Time.Median))
		if v.Name == s.KneeLo {
			knee.Lo = float64(v.Cell.X)
		}
		if v.Name == s.KneeHi {
			knee.Hi = float64(v.Cell.X)
		}
	}
	return knee, strings.Join(cells, ", ")
}

func kneeText(knee run.Estimate) string {
	switch {
	case knee.Lo == knee.Hi:
		return fmt.Sprintf("knee at %.0f", knee.Lo)
	case knee.Lo < knee.Hi:
		return fmt.Sprintf("knee from %.0f to %.0f", knee.Lo, knee.Hi)
	}
	return "no knee"
}

// deviceText names the device under a place.
func deviceText(ev *evidence) string {
	e := ev.place.Environment
	switch {
	case e.Backing != "":
		return fmt.Sprintf("a loop device over a file on %s", e.BackingFS)
	case e.Model != "":
		return e.Device + " (" + e.Model + ")"
	case e.Device != "":
		return e.Device
	}
	return "a file system without a device"
}
