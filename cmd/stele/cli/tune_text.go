package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/tuning"
)

// listChoices lists the choices of tune.
func listChoices(w io.Writer, choices []tuning.Choice) {
	for _, c := range choices {
		fmt.Fprintf(w, "%s: %s\n  default: %s\n", c.Field, c.Question, c.Default)
		for _, s := range c.Settings {
			fmt.Fprintf(w, "      %-28s %s\n", s.Name, s.Doc)
			if s.Later != "" {
				fmt.Fprintf(w, "      %-28s later: %s\n", "", s.Later)
			}
		}
		for _, l := range c.Loads {
			fmt.Fprintf(w, "  with %s\n", l.Name)
		}
	}
}

// tuneText prints the decisions for people. The first error stays.
type tuneText struct {
	w   io.Writer
	err error
}

func (t *tuneText) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// head prints the machine and the run.
func (t *tuneText) head(measured *run.Run) {
	e := measured.Places[0].Environment
	place := e.FS
	if e.Journal != "" && e.Journal != "n/a" {
		place += ", journal " + e.Journal
	}
	if e.Device != "" {
		place += ", on " + e.Device
	}
	if e.Model != "" {
		place += " (" + e.Model + ")"
	}
	t.printf("%s: %s; %d processors, Linux %s\n", e.Dir, place, e.CPUs, e.Kernel)
	t.printf("measured for %v\n", time.Duration(measured.Duration).Round(time.Second))
	for _, c := range measured.Places[0].Caps {
		t.printf("warning: %s (%s)\n", report.CapText(c), c.On)
	}
	for _, w := range e.Warnings {
		t.printf("warning: %s\n", report.PlaceWarning(&e, &w))
	}
	for _, note := range report.Notes(measured) {
		t.printf("note: %s\n", note)
	}
	if measured.Partial != nil {
		t.printf("note: not complete: %s\n", report.Partial(measured.Partial))
	}
}

// decision prints a choice and all its figures.
func (t *tuneText) decision(d tuning.Decision) {
	if d.Taken != nil {
		t.printf("\n%s: %s\n  %s. Set: %s.\n", d.Field, d.Taken.Name, d.Why, d.Taken.Says)
	} else {
		t.printf("\n%s: the default, %s\n  %s.\n", d.Field, d.Default, d.Why)
	}
	if t.err != nil {
		return
	}
	tab := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	load := ""
	for i, f := range slices.Concat(d.Figures, d.Later) {
		if f.Load != load {
			load = f.Load
			with := "with"
			if i >= len(d.Figures) {
				with = "later,"
			}
			fmt.Fprintf(tab, "  %s %s\n", with, load)
		}
		fmt.Fprintf(tab, "    %s\t%s\t%s\t%s\t%s\n", f.Name, interval(f), ratio(f), f.Verdict, mark(f.Taken))
	}
	t.err = tab.Flush()
	for _, line := range d.Absent {
		t.printf("  cannot be measured here: %s\n", line)
	}
}

// interval formats the time of a figure, and its interval if it has one.
func interval(f profile.Figure) string {
	return report.Time(estimate(f.Value, f.Lo, f.Hi))
}

// ratio formats the ratio of a figure, "" if it has none.
func ratio(f profile.Figure) string {
	if f.Ratio == 0 {
		return ""
	}
	return report.Ratio(estimate(f.Ratio, f.RatioLo, f.RatioHi))
}

// estimate returns an estimate of a profile, which has 0 for an unknown interval.
func estimate(median, lo, hi float64) run.Estimate {
	if hi == 0 {
		lo, hi = math.NaN(), math.NaN()
	}
	return run.Estimate{Median: median, Lo: lo, Hi: hi}
}

func mark(taken bool) string {
	if taken {
		return "<- taken"
	}
	return ""
}

// use prints how a program uses the profile.
func (t *tuneText) use(p *profile.Profile) {
	var b strings.Builder
	if p.Read != (profile.Read{Parallel: p.Read.Parallel}) || p.Write != (profile.Write{}) || p.WAL != (profile.WAL{}) {
		b.WriteString("    p, err := profile.Load(...)\n")
	}
	if p.WAL != (profile.WAL{}) {
		b.WriteString("    wal.Options{Profile: p}\n")
	}
	if p.Read != (profile.Read{Parallel: p.Read.Parallel}) {
		b.WriteString("    fileio.Options{Profile: p}\n")
	}
	if p.Write != (profile.Write{}) {
		b.WriteString("    fileio.WriterOptions{Profile: p}\n")
	}
	// These packages read no profile.
	if n := p.Create.Shards; n > 0 {
		fmt.Fprintf(&b, "    newfile.Options{Shards: %d}\n", n)
	}
	if s := p.Header.Strategy; s != "" {
		fmt.Fprintf(&b, "    header.Options{Strategy: header.%s, Pad: ...}\n", map[string]string{"clone": "Clone", "kernel-copy": "KernelCopy", "copy": "Copy"}[s])
	}
	if n := p.Create.Goroutines; n > 0 {
		fmt.Fprintf(&b, "    goroutines that make files: %d\n", n)
	}
	if n := p.Read.Parallel; n > 0 {
		fmt.Fprintf(&b, "    goroutines that read: %d\n", n)
	}
	if b.Len() == 0 {
		t.printf("\nNothing was found to be better than the defaults.\n")
		return
	}
	t.printf("\nIn a program:\n%s", b.String())
}
