package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

func headline(r *run.Run) string {
	return clean(fmt.Sprintf("Stele %s: %s, %s", r.Version, units.Count(len(r.Results), "experiment"), r.Started.UTC().Format("2006-01-02 15:04 UTC")))
}

func settingsLine(r *run.Run) string {
	s := r.Settings
	parts := []string{
		fmt.Sprintf("up to %d rounds of blocks of about %s", s.Rounds, duration(float64(s.BlockTime))),
		"tolerance ±" + percent(s.Tolerance),
		"test " + s.Test,
		fmt.Sprintf("seed %d", r.Seed),
		"took " + wall(r.Duration),
		fmt.Sprintf("one clock reading %s, the measuring loop %s an operation, not subtracted", duration(float64(r.Clock.PerReading)), duration(r.Clock.PerOp)),
	}
	if s.Quick {
		parts = append(parts, "quick set")
	}
	if s.InProcess {
		parts = append(parts, "blocks shared one process, so they are less independent")
	}
	return strings.Join(parts, "; ") + "."
}

// shortSettings is what a reader has to know of the settings to read the tables.
func shortSettings(r *run.Run) string {
	s := r.Settings
	text := fmt.Sprintf("Up to %d rounds of blocks of about %s, took %s. Less time is better; ± and brackets are 95 %% intervals, %s is the same.",
		s.Rounds, duration(float64(s.BlockTime)), wall(r.Duration), "±"+percent(s.Tolerance))
	if s.InProcess {
		text += " Blocks shared one process, so they are less independent."
	}
	return text
}

// shortPlace says where was measured, without what says nothing to others: the path of
// an image that is gone.
func shortPlace(p run.Place) string {
	e := p.Environment
	if e.Backing == "" {
		return placeLine(p)
	}
	s := p.Name + ": a fresh image in a file"
	if e.BackingFS != "" {
		s += " on " + e.BackingFS
	}
	return clean(s + ", journal " + orUnknown(e.Journal, e.Unknown["journal"]))
}

func placeLine(p run.Place) string {
	e := p.Environment
	return clean(p.Name + ": " + e.FS + " at " + e.Dir + ", " + device(e) + ", journal " + orUnknown(e.Journal, e.Unknown["journal"]))
}

func device(e run.Environment) string {
	s := "device " + orUnknown(e.Device, e.Unknown["device"])
	if e.Model != "" {
		s += " (" + e.Model + ")"
	}
	if e.Backing != "" {
		s += " on " + e.Backing
	}
	if e.WriteCache != "" {
		s += ", write cache " + e.WriteCache
	}
	return s
}

func machineLine(p run.Place) string {
	e := p.Environment
	s := fmt.Sprintf("%s, %s/%s %s, %s, %d CPUs, GOMAXPROCS %d", e.Go, e.OS, e.Arch, e.Kernel, orUnknown(e.CPU, e.Unknown["cpu"]), e.CPUs, e.GOMAXPROCS)
	if e.Pinned != "" {
		s += ", blocks pinned to CPU " + e.Pinned
	}
	if e.Virtual != "" {
		s += ", virtual (" + e.Virtual + ")"
	}
	return s
}

// orUnknown is s, or n/a and why.
func orUnknown(s string, why run.Reason) string {
	if s != "" && s != notAvailable {
		return s
	}
	if text := reasonText(why); text != "" {
		return notAvailable + " (" + text + ")"
	}
	return notAvailable
}

// A fact is one line of the environment.
type fact struct{ Name, Value string }

// facts lists the whole environment; a fact that is not known has the reason.
func facts(e run.Environment) []fact {
	var out []fact
	add := func(title, name, value string) {
		out = append(out, fact{title, clean(orUnknown(value, e.Unknown[name]))})
	}
	number := func(title, name string, n int64, write func(float64) string) {
		if n == 0 {
			add(title, name, "")
			return
		}
		add(title, name, write(float64(n)))
	}
	add("File system", "fs", e.FS)
	add("Journal", "journal", e.Journal)
	add("Device", "device", strings.TrimSpace(e.Device+" "+e.DeviceID))
	add("Model", "model", e.Model)
	if e.Backing != "" {
		add("Backed by", "backing", e.Backing)
	}
	add("Rotational", "rotational", e.Rotational)
	add("I/O scheduler", "scheduler", e.Scheduler)
	add("Write cache", "write_cache", e.WriteCache)
	add("Directory", "dir", e.Dir)
	add("Mounted at", "mount", e.Mount)
	add("Mount options", "mount_options", e.Options)
	number("Free space", "free_bytes", e.FreeBytes, size)
	number("Size", "total_bytes", e.TotalBytes, size)
	add("System", "kernel", strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel))
	add("CPU", "cpu", e.CPU)
	number("CPUs online", "cpus", int64(e.CPUs), count)
	number("Memory", "memory_bytes", e.Memory, size)
	add("CPU governor", "governor", e.Governor)
	if why, ok := e.Unknown["throttled"]; ok {
		add("Thermal throttling", "throttled", orUnknown("", why))
	} else {
		add("Thermal throttling", "throttled", count(float64(e.Throttled))+" events since boot")
	}
	if e.Virtual == "" && e.Unknown["virtual"].Code == "" {
		add("Virtual machine", "virtual", "none found")
	} else {
		add("Virtual machine", "virtual", e.Virtual)
	}
	if e.Load == 0 && e.Unknown["load1"].Code != "" {
		add("Load", "load1", "")
	} else {
		add("Load", "load1", fmt.Sprintf("%.2f over the last minute", e.Load))
	}
	add("Go", "go", e.Go)
	number("GOMAXPROCS", "gomaxprocs", int64(e.GOMAXPROCS), count)
	add("Go settings", "go_settings", cmp.Or(e.GoSettingsText(), "defaults"))
	add("Host", "hostname", e.Hostname)
	return out
}
