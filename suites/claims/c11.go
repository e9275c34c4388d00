package claims

import (
	"errors"
	"fmt"
	"os"
	"syscall"

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
		Op:  fmt.Sprintf("the soft limit set to %d, files opened until that fails, the limit raised to %d, and again", c11Soft, c11Raised),
		Ops: 1, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{{
			Name: c11Variant, Doc: "in a process of its own, whose limit is restored at the end", Promise: job.NothingWritten(), Baseline: true,
			Run: runLimits,
		}},
	}
	return Claim{
		ID: "C11",
		Source: reportC.source("4.4",
			"The kernel refuses a hard limit of descriptors above file-max/1024, and an open past the soft limit fails with EMFILE."),
		Statement:   "descriptor limits: at the soft limit; with it raised; hard limit against file-max",
		Claimed:     "EMFILE; more concurrency; hard limit at most file-max/1024",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC11(ev, e.ID()) },
	}
}

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
	emfile := 0.0
	if refused[0] && refused[1] {
		emfile = 1
	}
	b.Report("refused_with_emfile", emfile)
	b.Report("opened_at_soft_limit", float64(opened[0]))
	b.Report("opened_when_raised", float64(opened[1]))
	b.Report("hard_limit", float64(was.Hard))
	if was.System == 0 {
		b.ReportMissing("file_max", "cannot read fs.file-max: is /proc mounted?")
	} else {
		b.Report("file_max", float64(was.System))
	}
	return nil
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
	hard, most := figure("hard_limit"), figure("file_max")
	share := quotient(scaled(hard, 1024), most)
	text := fmt.Sprintf("With a soft limit of %d, %.0f files can be opened; with it raised to %d, %.0f; then comes %s. The hard limit is %.0f, fs.file-max %.0f, a 1,024th of which is %.0f.",
		c11Soft, atSoft.Median, c11Raised, raised.Median,
		map[bool]string{true: "EMFILE", false: "no EMFILE"}[emfile.Median == 1], hard.Median, most.Median, most.Median/1024)
	return decide(text, "All three had to be so: EMFILE at the soft limit, more files open at once when it is raised, and a hard limit of file-max/1024 at most. The kernel ties the hard limit to fs.nr_open, not to file-max (setrlimit(2)), and the service manager sets it.",
		"which of the three is meant: the first two are how the limits work, the third is how a machine is configured",
		atLeast(emfile, 1), atLeast(quotient(raised, atSoft), 2), within(share, 0, 1))
}
