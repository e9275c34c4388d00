package claims

import (
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// sameDisk returns what two places of a claim that compares file systems on one device lack,
// or "": partitions of one disk, or images in one directory.
func sameDisk(a, b run.Environment) string {
	const want = "both file systems on one device"
	switch {
	case a.Backing != "" && b.Backing != "":
		// An image lies in a directory of its own.
		if filepath.Dir(filepath.Dir(a.Backing)) == filepath.Dir(filepath.Dir(b.Backing)) {
			return ""
		}
	case a.Backing == "" && b.Backing == "" && a.Device != "" && wholeDisk(a.Device) == wholeDisk(b.Device):
		return ""
	}
	return want + "; here " + diskName(a) + " and " + diskName(b)
}

// betweenPlaces returns the ratio of a variant's metric in one place to that in another, or of its
// time where metric is "". It is paired by round, for the blocks of all places are interleaved:
// the median of the rounds' ratios. Where the blocks do not tell it is the quotient of the
// medians, with the widest interval.
func betweenPlaces(over, under *evidence, id, name, metric string) run.Estimate {
	figure, of := blockTime, (*evidence).time
	if metric != "" {
		figure = blockMetric(metric)
		of = func(ev *evidence, id, name string) run.Estimate { return ev.metric(id, name, metric) }
	}
	a, b := of(over, id, name), of(under, id, name)
	if e, ok := overRounds(overOf, over.byRound(id, name, figure), under.byRound(id, name, figure)); ok {
		return e
	}
	return quotient(a, b)
}

func diskName(e run.Environment) string {
	switch {
	case e.Backing != "":
		return "an image " + e.Backing
	case e.Device != "":
		return e.Device
	}
	return "no device"
}

// writeCaches names the write cache of each place's device, where it is known.
func writeCaches(all []*evidence) string {
	var known []string
	for _, ev := range all {
		if c := ev.place.Environment.WriteCache; c != "" {
			known = append(known, ev.place.Name+" "+c)
		}
	}
	if known == nil {
		return ""
	}
	return " Write caches of the devices: " + strings.Join(known, ", ") + "."
}

// wholeDisk returns the disk of a partition: "/dev/sda" of "/dev/sda2", "/dev/nvme0n1" of
// "/dev/nvme0n1p3".
func wholeDisk(device string) string {
	base := strings.TrimRight(device, "0123456789")
	if base == device {
		return device
	}
	if disk, ok := strings.CutSuffix(base, "p"); ok && disk != "" && isDigit(disk[len(disk)-1]) {
		return disk
	}
	if strings.HasPrefix(filepath.Base(device), "sd") || strings.HasPrefix(filepath.Base(device), "vd") || strings.HasPrefix(filepath.Base(device), "xvd") {
		return base
	}
	return device
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
