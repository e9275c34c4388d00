package claims

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"

	"github.com/stele-go/stele/internal/measure/rlimit"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/job"
)

const c11Variant = "open until it fails"

// The soft limits of C11: small, so that few files show them.
const (
	c11Soft   = 256
	c11Raised = 1024
)

func claimC11() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "C11", Question: "What do the limits on descriptors do, and how high can they be?",
		Op:  fmt.Sprintf("the soft limit set to %d, files opened until that fails, the limit raised to %d, and again; then hard limits set for a child", c11Soft, c11Raised),
		Ops: 1, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{{
			Name: c11Variant, Doc: "in a process of its own, whose limit is restored at the end; hard limits are those of a child of it (prlimit(2))", Promise: job.NothingWritten(), Baseline: true,
			Run: runLimits,
		}},
	}
	return Claim{
		ID: "C11",
		Source: reportC.source("4.4",
			"The kernel refuses a hard limit of descriptors above file-max/1024, and an open past the soft limit fails with EMFILE."),
		Statement:   "descriptor limits: at the soft limit; with it raised; hard limits above file-max/1024, at fs.nr_open and one above",
		Claimed:     "EMFILE; more descriptors; a hard limit above file-max/1024 is refused",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC11(ev, e.ID()) },
	}
}

// Metrics of C11 on hard limits: 1 where the kernel refused one, else 0.
const (
	c11AboveShare  = "refused_above_file_max_share"
	c11AtNrOpen    = "refused_at_nr_open"
	c11AboveNrOpen = "refused_above_nr_open"
)

// runLimits reports 1 for yes and 0 for no.
func runLimits(b *lab.B) (err error) {
	was, err := newfile.Limits()
	if err != nil {
		return err
	}
	if was.Hard < c11Raised || was.Used >= c11Soft {
		return fmt.Errorf("%w: hard limit %d, %d files open; want a hard limit of %d or more and fewer than %d open files",
			errors.ErrUnsupported, was.Hard, was.Used, c11Raised, c11Soft)
	}
	defer func() { err = errors.Join(err, sys.SetFileLimit(was.Soft)) }()
	var opened [2]int
	var refused [2]bool
	for b.Loop() {
		if err := sys.SetFileLimit(c11Soft); err != nil {
			return err
		}
		if opened[0], refused[0], err = openUntilRefused(b.Dir); err != nil {
			return err
		}
		if _, err := newfile.Raise(c11Raised); err != nil {
			return err
		}
		if opened[1], refused[1], err = openUntilRefused(b.Dir); err != nil {
			return err
		}
	}
	b.Report("refused_with_emfile", oneIf(refused[0] && refused[1]))
	b.Report("opened_at_soft_limit", float64(opened[0]))
	b.Report("opened_when_raised", float64(opened[1]))
	return errors.Join(sys.SetFileLimit(was.Soft), reportHardLimits(b, was))
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// reportHardLimits sets hard limits for a child and reports which of them the kernel refuses.
func reportHardLimits(b *lab.B, was newfile.Descriptors) error {
	most := rlimit.NrOpen()
	if was.System == 0 || most == 0 {
		b.ReportMissing(c11AboveShare, "fs.file-max and fs.nr_open cannot be read: is /proc mounted?")
		return nil
	}
	b.Report("file_max", float64(was.System))
	b.Report("nr_open", float64(most))
	child := exec.Command("cat") // waits for the end of its input
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		b.ReportMissing(c11AboveShare, "a child to try limits on: "+err.Error())
		return in.Close()
	}
	for _, try := range []struct {
		metric string
		hard   uint64
	}{{c11AboveShare, was.System/1024 + 1}, {c11AtNrOpen, most}, {c11AboveNrOpen, most + 1}} {
		refused, err := rlimit.SetHard(child.Process.Pid, try.hard)
		if err != nil {
			b.ReportMissing(try.metric, err.Error())
			continue
		}
		b.Report(try.metric, oneIf(refused))
	}
	return errors.Join(in.Close(), child.Wait())
}

// openUntilRefused opens a file again and again, and closes all at the end. refused reports
// whether it ended with EMFILE; any other failure is an error.
func openUntilRefused(name string) (opened int, refused bool, err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for len(files) < 2*c11Raised {
		f, err := os.Open(name)
		if errors.Is(err, syscall.EMFILE) {
			return len(files), true, nil
		}
		if err != nil {
			return len(files), false, err
		}
		files = append(files, f)
	}
	return len(files), false, nil
}

func judgeC11(ev *evidence, id string) judgement {
	figure := func(name string) run.Estimate { return ev.metric(id, c11Variant, name) }
	emfile, atSoft, raised := figure("refused_with_emfile"), figure("opened_at_soft_limit"), figure("opened_when_raised")
	refuses := func(what, metric string, limit float64) part {
		e, why := ev.known(id, c11Variant, metric)
		return fact(what+" is refused", e.Median == 1, fmt.Sprintf("%.0f is %s", limit, eitherText(e, "refused", "allowed"))).needs(why)
	}
	fileMax, whyMax := ev.known(id, c11Variant, "file_max")
	nrOpen, whyNr := ev.known(id, c11Variant, "nr_open")
	parts := []part{
		fact("an open at the soft limit fails with EMFILE", emfile.Median == 1, fmt.Sprintf("with a soft limit of %d, %.0f files can be opened, then %s", c11Soft, atSoft.Median,
			map[bool]string{true: "EMFILE", false: "no EMFILE"}[emfile.Median == 1])),
		fact("a raised soft limit gives more descriptors", raised.Median > atSoft.Median, fmt.Sprintf("raised to %d, %.0f", c11Raised, raised.Median)),
	}
	if why := cmp.Or(whyMax, whyNr); why != "" {
		parts = append(parts, lacking("a hard limit above file-max/1024 is refused", why).main())
	} else {
		share := math.Floor(fileMax.Median/1024) + 1
		above := refuses("a hard limit just above file-max/1024", c11AboveShare, share).main()
		if share > nrOpen.Median {
			above = above.needs(fmt.Sprintf("a file-max/1024 below fs.nr_open: file-max is %.0f, fs.nr_open %.0f, so the rule cannot bind", fileMax.Median, nrOpen.Median))
		}
		parts = append(parts, above, refuses("a hard limit of fs.nr_open", c11AtNrOpen, nrOpen.Median).onlyShown(),
			refuses("a hard limit of one more than fs.nr_open", c11AboveNrOpen, nrOpen.Median+1).onlyShown())
	}
	parts = append(parts, lacking("EMFILE or ENFILE where file-max is exhausted", "a virtual machine of its own").onlyShown())
	if ev.variant(id, c11Variant) == nil {
		parts = []part{{what: "the limits", answer: untested}}
	}
	return ruling("The limits were tried on a child, and the host's settings were read, not changed. Kernel "+ev.place.Environment.Kernel, parts...)
}
