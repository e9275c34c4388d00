package claims

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

var r9Threads = []int{1, 2, 4, 8, 16, 32}

// r9Readings are the readings of "threads at a depth": the report's line gives no depth, so
// that each thread has one read in flight; as meant, the threads share the depth.
var r9Readings = []struct {
	surface string
	shared  int // reads in flight of all threads together; 0: one each
}{{"as coded: one read in flight a thread", 0}, {"as meant: 128 in flight, shared", 128}, {"as meant: 32 in flight, shared", 32}}

func r9Name(shared, threads int) string {
	if shared == 0 {
		return fmt.Sprintf("libaio, %d threads, depth 1 each", threads)
	}
	return fmt.Sprintf("libaio, %d threads, %d in flight", threads, shared)
}

func r9(s job.Scale) lab.Experiment {
	j := rw.Surface{Size: s.Of(rw.QuickFile), Promise: job.NothingWritten()}
	e := j.Experiment("read", rw.QuickFile, "4 KiB read past the page cache at a random page")
	e.Suite, e.Name, e.Params = "claims", "R9", nil
	e.Question = "How many threads reach the full throughput of random reads?"
	e.MaxRounds = 8
	for _, reading := range r9Readings {
		for _, threads := range r9Threads {
			if reading.shared > 0 && threads >= reading.shared {
				continue // one read a thread: the first reading
			}
			v := j.Libaio(reading.surface, threads, max(1, reading.shared/threads))
			v.Name = r9Name(reading.shared, threads)
			v.Cell = &run.Cell{Surface: reading.surface, XName: "threads", X: threads, Y: 1, Latency: rw.RequestP50}
			e.Variants = append(e.Variants, v)
		}
	}
	return e
}

func claimR9() Claim {
	e := r9(1)
	return Claim{
		ID: "R9",
		Source: reportR.source("4.2",
			"Random 4K reads of NVMe at depth 128 reach 215k IOPS with 8 threads, 258k with 16 and 262k with 32, so threads = min(16, depth/4), and depth/8 on SATA."),
		Statement:   "random 4 KiB reads by 1 to 32 threads with libaio, as coded (one in flight each) and as meant (128 or 32 in flight, shared out)",
		Claimed:     "NVMe: 215k at 8, 258k at 16, 262k at 32 threads; threads = min(16, depth/4), SATA at most depth/8",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR9(ev, e.ID()) },
	}
}

// judgeR9 asks on each medium where its knee is: on NVMe 16 threads and on SATA 4.
func judgeR9(ev *evidence, id string) judgement {
	kind, unknown := deviceKind(ev.place.Environment)
	lack := func(of, name string) string {
		switch {
		case kind == of:
			return ""
		case unknown != "":
			return fmt.Sprintf("a directory on %s (this one: %s)", name, unknown)
		}
		return fmt.Sprintf("a directory on %s (this one is on a %s)", name, kind)
	}
	nvme, sata := lack(kindNVMe, "an NVMe SSD"), lack(kindSATA, "a SATA SSD")
	var parts []part
	for _, r := range r9Readings[:2] {
		parts = append(parts,
			claimed("NVMe: 16 threads against 8", ev.ratio(id, r9Name(r.shared, 8), r9Name(r.shared, 16)), 258./215).
				under(r.surface).needs(nvme).needs(ev.saturated(id, r9Name(r.shared, 16))),
			same("NVMe: 32 threads against 16", ev.ratio(id, r9Name(r.shared, 16), r9Name(r.shared, 32))).
				under(r.surface).needs(nvme).needs(ev.saturated(id, r9Name(r.shared, 32))))
	}
	for _, i := range []int{0, 2} {
		r := r9Readings[i]
		parts = append(parts, same("SATA: 8 threads against 4", ev.ratio(id, r9Name(r.shared, 4), r9Name(r.shared, 8))).
			under(r.surface).needs(sata).needs(ev.saturated(id, r9Name(r.shared, 8))))
	}
	for _, r := range r9Readings {
		parts = append(parts, figureOf("reads a second by threads", ev.r9Rates(id, r.shared)).under(r.surface))
	}
	return ruling("Measured on "+deviceText(ev)+". The rule's knees are 16 threads on NVMe at depth 128 (128/4 is more) and 4 on SATA at depth 32 (32/8). Where the processors are saturated the knee is theirs, not the device's.", parts...)
}

// r9Rates lists the reads a second of a reading.
func (ev *evidence) r9Rates(id string, shared int) string {
	var list []string
	for _, threads := range r9Threads {
		if shared > 0 && threads >= shared {
			continue
		}
		if t := ev.time(id, r9Name(shared, threads)); t.Median > 0 {
			list = append(list, fmt.Sprintf("%d: %.0f", threads, 1e9/t.Median))
		}
	}
	return strings.Join(list, ", ")
}

// mostBusy is the share of all processors' time above which they are saturated.
const mostBusy = 0.9

// saturated says so if a variant kept all processors busy, so that they and not the device
// limit it, else "".
func (ev *evidence) saturated(id, name string) string {
	user, why := ev.known(id, name, "cpu_user_ns_per_op")
	system, whySystem := ev.known(id, name, "cpu_sys_ns_per_op")
	cpus := ev.place.Environment.GOMAXPROCS
	if why != "" || whySystem != "" || cpus == 0 {
		return ""
	}
	busy := (user.Median + system.Median) / ev.time(id, name).Median / float64(cpus)
	if !(busy >= mostBusy) { // NaN where there was no round
		return ""
	}
	return fmt.Sprintf("processors that are not saturated: with %s, %d of them were %.0f %% busy", name, cpus, 100*busy)
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
