package env

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// cpuInfo is the processor of /proc/cpuinfo, whose form differs by architecture.
type cpuInfo struct {
	model      string
	hypervisor bool // the flag that x86 processors show under a hypervisor
}

func parseCPUInfo(s string) cpuInfo {
	var c cpuInfo
	fields := map[string]string{}
	for line := range strings.Lines(s) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if _, seen := fields[key]; !seen && value != "" {
			fields[key] = value
		}
	}
	for _, f := range strings.Fields(fields["flags"]) {
		c.hypervisor = c.hypervisor || f == "hypervisor"
	}
	for _, key := range []string{"model name", "cpu model", "Model", "cpu", "uarch"} {
		if c.model == "" {
			c.model = fields[key]
		}
	}
	// arm64 gives numbers only.
	if part := fields["CPU part"]; c.model == "" && part != "" {
		c.model = "implementer " + fields["CPU implementer"] + " part " + part
	}
	return c
}

// parseCPUList counts the processors of a list like "0-3,8,10-11".
func parseCPUList(s string) (int, error) {
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.ParseUint(lo, 10, 16)
		b, err2 := strconv.ParseUint(hi, 10, 16)
		if err1 != nil || err2 != nil || b < a {
			return 0, fmt.Errorf("cannot read list of processors %q", s)
		}
		n += int(b-a) + 1
	}
	return n, nil
}

// parseMemTotal returns the bytes of memory in /proc/meminfo.
func parseMemTotal(s string) (int64, error) {
	for line := range strings.Lines(s) {
		rest, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil || kb < 0 || kb > math.MaxInt64>>10 {
			return 0, fmt.Errorf("/proc/meminfo: cannot read %q", line)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("/proc/meminfo has no MemTotal")
}

// parseLoad returns the first figure of /proc/loadavg.
func parseLoad(s string) (float64, error) {
	first, _, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("/proc/loadavg: cannot read %q", s)
	}
	return v, nil
}

// cpuTimes are the sums over all processors in the first line of /proc/stat,
// in ticks.
type cpuTimes struct{ busy, idle, iowait, steal uint64 }

// parseCPUTimes reads "cpu user nice system idle iowait irq softirq steal ...";
// guest times, which follow, are part of user and nice.
func parseCPUTimes(s string) (cpuTimes, error) {
	line, _, _ := strings.Cut(s, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return cpuTimes{}, fmt.Errorf("/proc/stat: cannot read %q", line)
	}
	var v [8]uint64
	for i := range v {
		n, err := strconv.ParseUint(f[i+1], 10, 64)
		if err != nil {
			return cpuTimes{}, fmt.Errorf("/proc/stat: cannot read %q", line)
		}
		v[i] = n
	}
	return cpuTimes{busy: v[0] + v[1] + v[2] + v[5] + v[6], idle: v[3], iowait: v[4], steal: v[7]}, nil
}

// since returns shares of the time between two readings.
func (t cpuTimes) since(before cpuTimes) (busy, iowait, steal float64, err error) {
	// iowait may go back by a tick (proc(5)), and so may a sum of processors
	// of which one went offline.
	diff := func(a, b uint64) float64 { return max(0, float64(int64(a-b))) }
	b, i := diff(t.busy, before.busy), diff(t.idle, before.idle)
	w, s := diff(t.iowait, before.iowait), diff(t.steal, before.steal)
	all := b + i + w + s
	if all == 0 {
		return 0, 0, 0, fmt.Errorf("/proc/stat did not change while watched")
	}
	return b / all, w / all, s / all, nil
}

// parseScheduler returns the name in brackets of "none [mq-deadline] kyber".
func parseScheduler(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		if name, _, ok := strings.Cut(rest, "]"); ok {
			return name
		}
	}
	return strings.TrimSpace(s) // a device with only one shows it bare
}

// parseUevent reads the lines KEY=value of a device's uevent file.
func parseUevent(s string) map[string]string {
	m := map[string]string{}
	sc := bufio.NewScanner(strings.NewReader(s))
	for sc.Scan() {
		if k, v, ok := strings.Cut(sc.Text(), "="); ok {
			m[k] = v
		}
	}
	return m
}

// parseExt4Journal reads the effective options of /proc/fs/ext4/DEV/options.
// The kernel lists data= there, default or not, for every file system with a
// journal, and for none without.
func parseExt4Journal(options string) string {
	for line := range strings.Lines(options) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), "data="); ok {
			return mode
		}
	}
	return "none"
}

func hasOption(options, name string) bool {
	return slices.Contains(run.MountOptions(options), name)
}

// option returns the value of name=value.
func option(options, name string) (string, bool) {
	for _, o := range run.MountOptions(options) {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			return v, true
		}
	}
	return "", false
}
