package claims

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
)

const (
	variantSetAside = "set aside before"
	variantGrowing  = "growing"
	variantCreated  = "os.Create + Close"
)

const (
	c5Page     = 4 << 10
	c5FileSize = 1 << 30
	// Operations of a block, the same in all places: on a slow disk the first two MiB
	// take seconds and the whole file half an hour.
	c5Writes  = 500
	c5Creates = 5000
)

// c5Write is the workload that the report measured.
func c5Write() lab.Experiment {
	variant := func(name, doc string, size int64) lab.Variant {
		return lab.Variant{
			Name: name, Doc: doc, Promise: powerTorn, Baseline: size > 0,
			Run: inDir(func(b *lab.B) (err error) {
				made, err := os.Create("data")
				if err != nil {
					return err
				}
				if size > 0 {
					err = fileop.Fallocate(made, 0, 0, size)
				}
				if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
					return err
				}
				f, err := aio.OpenDirectSync("data")
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				page := sys.AlignedBuffer(c5Page, c5Page)
				for i := range page {
					page[i] = byte(i%251 + 1)
				}
				b.SetBytes(c5Page)
				for b.Loop() {
					if _, err := f.WriteAt(page, b.I()*c5Page); err != nil {
						return err
					}
				}
				return nil
			}),
		}
	}
	return lab.Experiment{
		Suite: "claims", Name: "C5-write", Question: "How long does a synced sequential write of 4 KiB take?",
		Op: "one direct, synced write of 4 KiB after the one before", Ops: c5Writes,
		Variants: []lab.Variant{
			variant(variantSetAside, "O_DIRECT and O_SYNC, in a file for which 1 GiB was set aside by fallocate, as fio does", c5FileSize),
			variant(variantGrowing, "O_DIRECT and O_SYNC, at the end of a file that begins empty", 0),
		},
	}
}

// c5Create is the workload that the report says it measured.
func c5Create() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C5-create", Question: "How long does creating a file take?",
		Op: "os.Create and Close of a new name", Ops: c5Creates,
		Variants: []lab.Variant{{
			Name: variantCreated, Doc: "the standard library", Promise: kept, Baseline: true,
			Run: inDir(func(b *lab.B) error { return createNames(b, 1, distinctName) }),
		}},
	}
}

func claimC5() Claim {
	write, create := c5Write(), c5Create()
	return Claim{
		ID: "C5",
		Source: reportC.source("2.5",
			"Creating small files with O_SYNC takes 8.2 ms (p99 24.7) on ext4, 6.5 (17.3) on XFS and 14.9 (62.1) on btrfs."),
		Statement:   "told as creation latency, measured as 4 KiB sequential writes, direct and synced, into one 1 GiB file: ext4, XFS, btrfs, mean and p99",
		Claimed:     "8.2/24.7, 6.5/17.3, 14.9/62.1 ms",
		Promise:     "the writes: power, torn, each survives a power cut once it returns; the creations: kill, old or new",
		Experiments: []lab.Experiment{write, create},
		judgeAll:    func(all []*evidence) judgement { return judgeC5(all, write.ID(), create.ID()) },
	}
}

// c5Claimed has the published mean and 99th percentile of each file system, in
// milliseconds.
var c5Claimed = map[string]struct{ mean, p99 float64 }{
	"ext4":  {8.2, 24.7},
	"xfs":   {6.5, 17.3},
	"btrfs": {14.9, 62.1},
}

// judgeC5 rules on the ratios of ext4 and btrfs to XFS, since the times belong to
// another machine.
func judgeC5(all []*evidence, write, create string) judgement {
	systems := []string{"ext4", "xfs", "btrfs"}
	at, missing := firstOn(all, systems...)
	if missing != "" {
		return ruled("", CannotTest, "the claim compares ext4, XFS and btrfs; missing: "+missing)
	}
	var text string
	var answers []answer
	for _, job := range []struct{ what, id, variant string }{
		{"Writes, set aside before", write, variantSetAside},
		{"Writes, growing", write, variantGrowing},
		{"Creations", create, variantCreated},
	} {
		var parts []string
		baseMean := at["xfs"].time(job.id, job.variant)
		baseTail, noBase := at["xfs"].tail(job.id, job.variant)
		for _, fs := range systems {
			mean := at[fs].time(job.id, job.variant)
			tail, noTail := at[fs].tail(job.id, job.variant)
			part := fs + " " + nanos(mean)
			if noTail == "" {
				part += fmt.Sprintf(" (p99 %s)", nanos(tail))
			} else {
				part += " (p99: " + noTail + ")"
			}
			if fs != "xfs" {
				claimed, base := c5Claimed[fs], c5Claimed["xfs"]
				mean, tail := quotient(mean, baseMean), quotient(tail, baseTail)
				part += fmt.Sprintf(", %s of XFS's", factor(mean))
				answers = append(answers, near(mean, claimed.mean/base.mean), near(tail, claimed.p99/base.p99))
				if noTail == "" && noBase == "" {
					part += fmt.Sprintf(" (p99 %s)", factor(tail))
				}
			}
			parts = append(parts, part)
		}
		text += job.what + ": " + strings.Join(parts, "; ") + ". "
	}
	return decide(text,
		"ext4 had to take the claimed 1.26x of XFS's mean and 1.43x of its p99, btrfs 2.29x and 3.59x, each to within 25 %, for the writes as measured and the creations as described. The file systems are on different devices or images, so an interval is the widest that both allow. A p99 is the median of the blocks'.",
		"the file system, on mean or p99, and on the operation", answers...)
}
