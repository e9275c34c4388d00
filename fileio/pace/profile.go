package pace

import (
	"fmt"
	"strconv"
	"strings"
)

// MiB is the unit in which throughput is given, in bytes.
const MiB = 1 << 20

// A Profile is what a volume lets through. The zero value has no limits.
type Profile struct {
	// Name is the kind of volume, "" for limits given by hand.
	Name string
	// SizeGiB is its size in GiB, which some kinds derive their limits from.
	// 0: it was not needed.
	SizeGiB int

	// IOPS is how many operations a second it takes. 0: any.
	IOPS int
	// BytesPerSecond is its throughput. 0: any.
	BytesPerSecond int64
	// IOSize is how many bytes count as one operation: a larger request
	// counts as several. 0: every request is one.
	IOSize int

	// BurstOps and BurstBytes are what may pass at once after a pause. 0 is
	// what the limits let through in 10 ms, and at least one operation.
	BurstOps   int
	BurstBytes int
}

// DefaultSizeGiB is the size that Parse gives a volume whose limits depend on
// it, unless it is told another.
const DefaultSizeGiB = 100

// essd is the line of a performance level in the table of ESSDs: both limits
// grow with the size, up to a most.
type essd struct {
	iops, iopsPerGiB, mostIOPS int
	// In MB/s. The table does not say whether a MB is 10^6 bytes or 2^20. The
	// smaller is taken: whoever keeps to it keeps to the other as well.
	mbps, mbpsPerGiB, mostMBps float64
	least                      int // size in GiB
}

// Alibaba Cloud, "ESSDs", table of performance levels
// (help.aliyun.com/en/ecs/user-guide/essds). PL1's line was read on the
// vendor's page of AutoPL disks, which have it as their base, in November
// 2026; the other lines are as of 2024 and were not read again: give the
// limits by hand where it matters.
var essds = map[string]essd{
	"essd-pl0": {1800, 12, 10_000, 100, 0.25, 180, 1},
	"essd-pl1": {1800, 50, 50_000, 120, 0.5, 350, 20},
	"essd-pl2": {1800, 50, 100_000, 120, 0.5, 750, 461},
	"essd-pl3": {1800, 50, 1_000_000, 120, 0.5, 4000, 1261},
}

// AWS, "General Purpose SSD volumes" and "Amazon EBS I/O characteristics"
// (docs.aws.amazon.com/ebs/latest/userguide). The base and the ratios are
// those since 2020; the most, of September 2025, are taken from reports about
// that page. Before, they were 16,000 IOPS, 1,000 MiB/s and 16 TiB.
const (
	gp3BaseIOPS   = 3_000
	gp3MostIOPS   = 80_000
	gp3IOPSPerGiB = 500 // of what is above the base
	gp3BaseMiBps  = 125
	gp3MostMiBps  = 2_000
	gp3IOPSPerMiB = 4 // at most 0.25 MiB/s for each of the IOPS
	ssdIOSize     = 256 << 10
)

// mostGiB is the largest volume of both vendors.
const mostGiB = 64 << 10

// GP3 is an EBS volume of the type gp3. iops and mibps are what was
// provisioned; 0 is the base that every volume has, 3,000 and 125 MiB/s.
// sizeGiB may be 0 where neither is above that.
func GP3(sizeGiB, iops, mibps int) (Profile, error) {
	if iops == 0 {
		iops = gp3BaseIOPS
	}
	if mibps == 0 {
		mibps = gp3BaseMiBps
	}
	size := sizeGiB
	if size == 0 {
		size = DefaultSizeGiB
	}
	most := min(gp3MostIOPS, max(gp3BaseIOPS, gp3IOPSPerGiB*size))
	switch {
	case size < 1 || size > mostGiB:
		return Profile{}, fmt.Errorf("pace: gp3 has 1 to %d GiB, not %d", mostGiB, size)
	case iops < gp3BaseIOPS || iops > most:
		return Profile{}, fmt.Errorf("pace: gp3 of %d GiB has %d to %d IOPS, not %d", size, gp3BaseIOPS, most, iops)
	case mibps < gp3BaseMiBps || mibps > min(gp3MostMiBps, iops/gp3IOPSPerMiB):
		return Profile{}, fmt.Errorf("pace: gp3 with %d IOPS has %d to %d MiB/s, not %d",
			iops, gp3BaseMiBps, min(gp3MostMiBps, iops/gp3IOPSPerMiB), mibps)
	}
	return Profile{Name: "gp3", SizeGiB: sizeGiB, IOPS: iops, BytesPerSecond: int64(mibps) * MiB, IOSize: ssdIOSize}, nil
}

// ESSD is an Alibaba Cloud ESSD of a performance level from 0 to 3.
func ESSD(level, sizeGiB int) (Profile, error) {
	name := "essd-pl" + strconv.Itoa(level)
	e, ok := essds[name]
	if !ok {
		return Profile{}, fmt.Errorf("pace: ESSDs have the performance levels 0 to 3, not %d", level)
	}
	if sizeGiB < e.least || sizeGiB > mostGiB {
		return Profile{}, fmt.Errorf("pace: %s has %d to %d GiB, not %d", name, e.least, mostGiB, sizeGiB)
	}
	mbps := min(e.mbps+e.mbpsPerGiB*float64(sizeGiB), e.mostMBps)
	return Profile{
		Name:           name,
		SizeGiB:        sizeGiB,
		IOPS:           min(e.iops+e.iopsPerGiB*sizeGiB, e.mostIOPS),
		BytesPerSecond: int64(mbps * 1e6),
	}, nil
}

// Names are the kinds of volumes that Parse knows.
func Names() []string { return []string{"gp3", "essd-pl0", "essd-pl1", "essd-pl2", "essd-pl3"} }

// Parse reads a profile: the name of a kind, limits, or a kind with what
// differs, with commas between.
//
//	gp3
//	gp3,size=500,iops=6000,mbps=500
//	essd-pl1,size=500
//	iops=3000,mbps=125
//
// size is in GiB, mbps in MiB/s. A size that a kind needs and that is not
// given is DefaultSizeGiB, or the least of that kind if that is more. Limits
// that the vendor does not sell are refused; of an ESSD only the size can be
// chosen.
func Parse(s string) (Profile, error) {
	items := strings.Split(s, ",")
	name := ""
	if !strings.Contains(items[0], "=") {
		name, items = items[0], items[1:]
	}
	given := map[string]int{}
	for _, item := range items {
		key, value, _ := strings.Cut(item, "=")
		n, err := strconv.Atoi(value)
		if _, twice := given[key]; err != nil || n <= 0 || n > 1<<30 || twice {
			return Profile{}, fmt.Errorf("pace: %q in %q: want size=, iops= or mbps=, each once, with a whole number above 0", item, s)
		}
		switch key {
		case "size", "iops", "mbps":
			given[key] = n
		default:
			return Profile{}, fmt.Errorf("pace: %q in %q: want size=, iops= or mbps=", key, s)
		}
	}
	size, iops, mbps := given["size"], given["iops"], given["mbps"]
	switch e, isESSD := essds[name]; {
	case name == "gp3":
		return GP3(size, iops, mbps)
	case isESSD && (iops != 0 || mbps != 0):
		return Profile{}, fmt.Errorf("pace: the limits of %s follow from its size; in %q give only that", name, s)
	case isESSD:
		if size == 0 {
			size = max(DefaultSizeGiB, e.least)
		}
		return ESSD(int(name[len(name)-1]-'0'), size)
	case name != "":
		return Profile{}, fmt.Errorf("pace: %q is no kind of volume; want one of %s, or iops= and mbps=", name, strings.Join(Names(), ", "))
	case iops == 0 && mbps == 0:
		return Profile{}, fmt.Errorf("pace: %q has no limit; want one of %s, or iops= and mbps=", s, strings.Join(Names(), ", "))
	case size != 0:
		return Profile{}, fmt.Errorf("pace: in %q the size says nothing, as no kind is given", s)
	}
	return Profile{IOPS: iops, BytesPerSecond: int64(mbps) * MiB}, nil
}

// String tells the limits, for people.
func (p Profile) String() string {
	var b strings.Builder
	if p.Name != "" {
		b.WriteString(p.Name)
		if p.SizeGiB != 0 {
			fmt.Fprintf(&b, " of %d GiB", p.SizeGiB)
		}
		b.WriteString(": ")
	}
	switch {
	case p.IOPS == 0 && p.BytesPerSecond == 0:
		b.WriteString("no limit")
	case p.IOPS == 0:
		fmt.Fprintf(&b, "%.4g MiB/s", float64(p.BytesPerSecond)/MiB)
	case p.BytesPerSecond == 0:
		fmt.Fprintf(&b, "%d IOPS", p.IOPS)
	default:
		fmt.Fprintf(&b, "%d IOPS, %.4g MiB/s", p.IOPS, float64(p.BytesPerSecond)/MiB)
	}
	return b.String()
}
