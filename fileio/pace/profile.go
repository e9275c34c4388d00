package pace

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// MiB is the unit of throughput in Parse and GP3, in bytes.
const MiB = 1 << 20

// A Profile holds the limits of a volume. The zero value has none.
type Profile struct {
	// Name is the kind of volume, "" for limits given by hand.
	Name string
	// SizeGiB is the size in GiB, from which some kinds derive their limits. 0 means
	// that it was not needed.
	SizeGiB int

	// IOPS is the limit of operations per second. 0 means no limit.
	IOPS int
	// BytesPerSecond is the limit of throughput. 0 means no limit.
	BytesPerSecond int64
	// IOSize is the number of bytes that count as one operation: a larger request
	// counts as several. With 0 every request is one.
	IOSize int

	// BurstOps and BurstBytes are the operations and bytes allowed at once after a
	// pause. 0 is what the limits allow in 10 ms, and at least one operation.
	BurstOps   int
	BurstBytes int
}

// defaultSizeGiB is the size that Parse assumes for a volume whose limits depend on
// it.
const defaultSizeGiB = 100

// essd is the line of a performance level in the table of ESSDs: both limits grow with
// the size, up to a maximum.
type essd struct {
	iops, iopsPerGiB, mostIOPS int
	// In MB/s. The table does not say whether a MB is 10^6 bytes or 2^20. This package
	// takes the smaller, which is within the limit either way.
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
// those since 2020; the maxima, of September 2025, are taken from reports about
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

// mostValue is the largest number that Parse takes.
const mostValue = 1 << 30

// mostGiB is the size of the largest volume of both vendors.
const mostGiB = 64 << 10

// GP3 returns the profile of an EBS volume of type gp3. iops and mibps, in MiB/s, are
// the provisioned limits; 0 is the base that every volume has, 3,000 and 125 MiB/s.
// sizeGiB may be 0 if neither is above that. Limits that AWS does not sell are an
// error.
func GP3(sizeGiB, iops, mibps int) (Profile, error) {
	if iops == 0 {
		iops = gp3BaseIOPS
	}
	if mibps == 0 {
		mibps = gp3BaseMiBps
	}
	size := sizeGiB
	if size == 0 {
		size = defaultSizeGiB
	}
	most := min(gp3MostIOPS, max(gp3BaseIOPS, gp3IOPSPerGiB*size))
	switch {
	case size < 1 || size > mostGiB:
		return Profile{}, wrong("GP3: size", fmt.Sprintf("%d GiB", size), "1 to %d GiB", mostGiB)
	case iops < gp3BaseIOPS || iops > most:
		return Profile{}, wrong("GP3: IOPS", iops, "%d to %d for %d GiB", gp3BaseIOPS, most, size)
	case mibps < gp3BaseMiBps || mibps > min(gp3MostMiBps, iops/gp3IOPSPerMiB):
		return Profile{}, wrong("GP3: throughput", fmt.Sprintf("%d MiB/s", mibps), "%d to %d MiB/s for %d IOPS",
			gp3BaseMiBps, min(gp3MostMiBps, iops/gp3IOPSPerMiB), iops)
	}
	return Profile{Name: "gp3", SizeGiB: sizeGiB, IOPS: iops, BytesPerSecond: int64(mibps) * MiB, IOSize: ssdIOSize}, nil
}

// ESSD returns the profile of an Alibaba Cloud ESSD of a performance level from 0 to 3.
// A level or a size that Alibaba Cloud does not sell is an error.
func ESSD(level, sizeGiB int) (Profile, error) {
	name := "essd-pl" + strconv.Itoa(level)
	e, ok := essds[name]
	if !ok {
		return Profile{}, wrong("ESSD: performance level", level, "0 to 3")
	}
	if sizeGiB < e.least || sizeGiB > mostGiB {
		return Profile{}, wrong("ESSD: size", fmt.Sprintf("%d GiB", sizeGiB), "%d to %d GiB for %s", e.least, mostGiB, name)
	}
	mbps := min(e.mbps+e.mbpsPerGiB*float64(sizeGiB), e.mostMBps)
	return Profile{
		Name:           name,
		SizeGiB:        sizeGiB,
		IOPS:           min(e.iops+e.iopsPerGiB*sizeGiB, e.mostIOPS),
		BytesPerSecond: int64(mbps * 1e6),
	}, nil
}

// Names returns the kinds of volumes that Parse knows.
func Names() []string { return []string{"gp3", "essd-pl0", "essd-pl1", "essd-pl2", "essd-pl3"} }

// Parse parses a profile: the name of a kind, limits, or a kind and the limits that
// differ, separated by commas.
//
//	gp3
//	gp3,size=500,iops=6000,mbps=500
//	essd-pl1,size=500
//	iops=3000,mbps=125
//
// size is in GiB, mbps in MiB/s. If a kind needs a size and none is given, it is
// 100 GiB, or the smallest of that kind if that is larger. Limits that the vendor
// does not sell are an error; for an ESSD only the size can be chosen.
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
		switch {
		case key != "size" && key != "iops" && key != "mbps":
			return Profile{}, wrong("Parse: limit", strconv.Quote(item), "size=, iops= or mbps=")
		case given[key] != 0:
			return Profile{}, wrong("Parse: "+key, fmt.Sprintf("%d and %s", given[key], value), "one value")
		case err != nil || n < 1 || n > mostValue:
			return Profile{}, wrong("Parse: "+key, strconv.Quote(value), "a whole number from 1 to %d", mostValue)
		}
		given[key] = n
	}
	size, iops, mbps := given["size"], given["iops"], given["mbps"]
	switch e, isESSD := essds[name]; {
	case name == "gp3":
		return GP3(size, iops, mbps)
	case isESSD && (iops != 0 || mbps != 0):
		return Profile{}, wrong("Parse: profile", strconv.Quote(s), "%s and size= alone: the limits follow from the size", name)
	case isESSD:
		if size == 0 {
			size = max(defaultSizeGiB, e.least)
		}
		return ESSD(int(name[len(name)-1]-'0'), size)
	case name != "":
		return Profile{}, wrong("Parse: kind of volume", strconv.Quote(name), "%s, or iops= and mbps=", strings.Join(Names(), ", "))
	case iops == 0 && mbps == 0:
		return Profile{}, wrong("Parse: profile", strconv.Quote(s), "%s, or iops= and mbps=", strings.Join(Names(), ", "))
	case size != 0:
		return Profile{}, wrong("Parse: profile", strconv.Quote(s), "a kind of volume with size=")
	}
	return Profile{IOPS: iops, BytesPerSecond: int64(mbps) * MiB}, nil
}

// wrong returns the error of a wrong value, in the form of the other packages. This
// module stands alone, so it does not use theirs. errors.Is(err, fs.ErrInvalid) holds.
func wrong(name string, got any, want string, args ...any) error {
	return &settingError{fmt.Sprintf("pace: %s: %v; want %s", name, got, fmt.Sprintf(want, args...))}
}

type settingError struct{ text string }

func (e *settingError) Error() string        { return e.text }
func (e *settingError) Is(target error) bool { return target == fs.ErrInvalid }

// String returns the limits in words: "gp3 of 100 GiB: 3000 IOPS, 125 MiB/s".
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
