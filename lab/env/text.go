package env

import (
	"fmt"
	"github.com/stele-go/stele/lab/run"
	"slices"
	"strings"
)

// text writes the fingerprint as a table of two columns. What is not known is
// listed with its reason, and left out of the table.
func text(e *run.Environment, b *strings.Builder) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-14s %s\n", name, value)
		}
	}
	b.WriteString("machine\n")
	row("host", e.Hostname)
	row("system", strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel))
	row("processors", fmt.Sprintf("%d x %s", e.CPUs, orUnknown(e.CPU)))
	row("governor", e.Governor)
	if e.Memory > 0 {
		row("memory", bytesText(e.Memory))
	}
	row("virtual", e.Virtual)
	if e.Unknown["load1"] == "" {
		row("load", fmt.Sprintf("%.2f; just now %.0f %% busy, %.0f %% waiting for disks, %.0f %% stolen",
			e.Load, 100*e.Busy, 100*e.IOWait, 100*e.Steal))
	}
	row("Go", strings.TrimSpace(fmt.Sprintf("%s, GOMAXPROCS %d %s", e.Go, e.GOMAXPROCS, strings.Join(goSettings(e), " "))))
	b.WriteString("\nfolder\n")
	row("path", e.Dir)
	row("file system", e.FS)
	row("mounted at", e.Mount)
	row("options", e.Options)
	if e.Unknown["journal"] == "" {
		row("journal", e.Journal)
	}
	if e.TotalBytes > 0 {
		row("free", fmt.Sprintf("%s of %s", bytesText(e.FreeBytes), bytesText(e.TotalBytes)))
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
			fmt.Fprintf(b, "  %s: %s\n", w.Code, w.Text)
		}
	}
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

func orUnknown(s string) string {
	if s == "" {
		return "(model not known)"
	}
	return s
}

func bytesText(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}

func goSettings(e *run.Environment) []string {
	var s []string
	for k, v := range e.GoSettings {
		s = append(s, k+"="+v)
	}
	slices.Sort(s)
	return s
}
