package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Environment writes where a measurement was made as a table of two columns,
// and its warnings. What is not known is left out of the table and listed with
// its reason.
func Environment(w io.Writer, e *run.Environment) error {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-14s %s\n", name, value)
		}
	}
	b.WriteString("machine\n")
	row("host", e.Hostname)
	row("system", strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel))
	row("processors", fmt.Sprintf("%d x %s", e.CPUs, cmp.Or(e.CPU, "(model not known)")))
	row("governor", e.Governor)
	if e.Memory > 0 {
		row("memory", size(float64(e.Memory)))
	}
	row("virtual", e.Virtual)
	if e.Unknown["load1"] == "" {
		row("load", fmt.Sprintf("%.2f; just now %.0f %% busy, %.0f %% waiting for disks, %.0f %% stolen",
			e.Load, 100*e.Busy, 100*e.IOWait, 100*e.Steal))
	}
	row("Go", strings.TrimSpace(fmt.Sprintf("%s, GOMAXPROCS %d %s", e.Go, e.GOMAXPROCS, e.GoSettingsText())))
	b.WriteString("\nfolder\n")
	row("path", e.Dir)
	row("file system", e.FS)
	row("mounted at", e.Mount)
	row("options", e.Options)
	if e.Unknown["journal"] == "" {
		row("journal", e.Journal)
	}
	if e.TotalBytes > 0 {
		row("free", fmt.Sprintf("%s of %s", size(float64(e.FreeBytes)), size(float64(e.TotalBytes))))
	}
	row("device", strings.TrimSpace(e.Device+" "+e.DeviceID))
	row("members", strings.Join(e.Members, ", "))
	row("model", e.Model)
	row("rotational", e.Rotational)
	row("scheduler", e.Scheduler)
	row("write cache", e.WriteCache)
	row("image", e.Backing)
	row("image I/O", e.BackingIO)
	row("on", e.BackingFS)
	if len(e.Unknown) > 0 {
		b.WriteString("\nnot known\n")
		for _, line := range unknownLines(e) {
			b.WriteString("  " + line + "\n")
		}
	}
	if len(e.Warnings) > 0 {
		b.WriteString("\nwarnings\n")
		for _, w := range e.Warnings {
			fmt.Fprintf(&b, "  %s: %s\n", w.Code, PlaceWarning(e, &w))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unknownLines groups the fields that are unknown for one reason.
func unknownLines(e *run.Environment) []string {
	fields := map[string][]string{}
	for field, reason := range e.Unknown {
		fields[reason] = append(fields[reason], field)
	}
	var lines []string
	for reason, names := range fields {
		slices.Sort(names)
		lines = append(lines, strings.Join(names, ", ")+": "+reason)
	}
	slices.Sort(lines)
	return lines
}
