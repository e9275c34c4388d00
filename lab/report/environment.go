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
	var t factTable
	t.machine(e)
	t.directory(e)
	t.list("not known", unknownLines(e))
	var warnings []string
	for _, w := range e.Warnings {
		warnings = append(warnings, w.Code+": "+PlaceWarning(e, &w))
	}
	t.list("warnings", warnings)
	_, err := io.WriteString(w, t.String())
	return err
}

// A factTable is names with values, under titles.
type factTable struct{ strings.Builder }

// row adds a value that is known.
func (t *factTable) row(name, value string) {
	if value != "" {
		fmt.Fprintf(t, "  %-14s %s\n", name, value)
	}
}

// list adds lines with a title, where there are any.
func (t *factTable) list(title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(t, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
	}
}

func (t *factTable) machine(e *run.Environment) {
	t.WriteString("machine\n")
	t.row("host", e.Hostname)
	t.row("system", strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel))
	t.row("processors", fmt.Sprintf("%d x %s", e.CPUs, cmp.Or(e.CPU, "(model not known)")))
	t.row("pinned to", e.Pinned)
	t.row("governor", e.Governor)
	if e.Memory > 0 {
		t.row("memory", size(float64(e.Memory)))
	}
	t.row("virtual", e.Virtual)
	if e.Unknown["load1"].Code == "" {
		t.row("load", fmt.Sprintf("%.2f; just now %.0f %% busy, %.0f %% waiting for disks, %.0f %% stolen",
			e.Load, 100*e.Busy, 100*e.IOWait, 100*e.Steal))
	}
	t.row("Go", strings.TrimSpace(fmt.Sprintf("%s, GOMAXPROCS %d %s", e.Go, e.GOMAXPROCS, e.GoSettingsText())))
}

func (t *factTable) directory(e *run.Environment) {
	t.WriteString("\ndirectory\n")
	t.row("path", e.Dir)
	t.row("file system", e.FS)
	t.row("mounted at", e.Mount)
	t.row("options", e.Options)
	if e.Unknown["journal"].Code == "" {
		t.row("journal", e.Journal)
	}
	if e.TotalBytes > 0 {
		t.row("free", fmt.Sprintf("%s of %s", size(float64(e.FreeBytes)), size(float64(e.TotalBytes))))
	}
	t.row("device", strings.TrimSpace(e.Device+" "+e.DeviceID))
	t.row("members", strings.Join(e.Members, ", "))
	t.row("model", e.Model)
	t.row("rotational", e.Rotational)
	t.row("scheduler", e.Scheduler)
	t.row("write cache", e.WriteCache)
	t.row("image", e.Backing)
	t.row("image I/O", e.BackingIO)
	t.row("on", e.BackingFS)
}

// unknownLines groups the fields that are unknown for one reason.
func unknownLines(e *run.Environment) []string {
	fields := map[string][]string{}
	for field, reason := range e.Unknown {
		text := Reason(reason)
		fields[text] = append(fields[text], field)
	}
	var lines []string
	for text, names := range fields {
		slices.Sort(names)
		lines = append(lines, strings.Join(names, ", ")+": "+text)
	}
	slices.Sort(lines)
	return lines
}
