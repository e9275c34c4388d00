package env

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// WriteText writes the measurements as text, and the verdict last.
func (s *Syncs) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString("syncs: 4 KiB of an existing file written, median with its 95 % interval\n")
	for _, way := range s.Ways {
		if way.Error != "" {
			fmt.Fprintf(&b, "  %-9s  not measured: %s\n", way.Name, way.Error)
			continue
		}
		fmt.Fprintf(&b, "  %-9s  %9s  %s\n", way.Name, duration(way.Time.Median), interval(way.Time.Lo, way.Time.Hi))
		for _, d := range way.Devices {
			flushes := fmt.Sprintf("%.1f flushes", d.Flushes)
			if d.NoFlushes != "" {
				flushes = "flushes not counted"
			}
			fmt.Fprintf(&b, "  %-9s  at %s: %.1f writes, %s%s\n", "", d.Device, d.Writes, flushes, cacheText(d.WriteCache))
		}
	}
	if s.Known != "" {
		fmt.Fprintf(&b, "  known      %s\n", s.Known)
	}
	b.WriteString("\nnot visible from here\n")
	for _, text := range s.Unseen {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	fmt.Fprintf(&b, "\n%s\n", s.VerdictLine())
	_, err := io.WriteString(w, b.String())
	return err
}

// VerdictLine is the verdict as a sentence.
func (s *Syncs) VerdictLine() string {
	why := strings.Join(s.Why, "; ")
	switch s.Verdict {
	case Honest:
		return "Syncs are honest in all that can be seen from here: each reached the devices above. A power cut is the only proof."
	case NotHonest:
		return "Syncs are not honest: " + why + "."
	}
	return "Whether syncs are honest cannot be told: " + why + "."
}

func cacheText(cache string) string {
	switch cache {
	case "write back":
		return " (it has a volatile cache)"
	case "write through":
		return " (it says that it has no volatile cache)"
	}
	return ""
}

func duration(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.Round(10 * time.Nanosecond).String()
}

func interval(lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return "(too few for an interval)"
	}
	return "[" + duration(lo) + ", " + duration(hi) + "]"
}
