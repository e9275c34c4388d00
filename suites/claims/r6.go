package claims

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// r6Formula returns the claimed throughput of a volume, in MiB/s.
func r6Formula(iops float64) float64 { return min(125+0.25*iops, 1000) }

// gp3Limits are the vendor's published limits of a volume of type gp3. Throughput is bought
// apart from IOPS: each volume has the base, and IOPS only limit how much more can be bought.
type gp3Limits struct {
	when                 string
	baseMiBps, mostMiBps float64
	perIOPS              float64 // MiB/s at most for each of the IOPS
	leastIOPS, mostIOPS  float64
}

// r6Published is from AWS, "Amazon EBS General Purpose SSD volumes" and "Amazon EBS volume
// types" (docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html). The base and the
// ratio hold since 2020; today's maxima come from reports on the announcement of September 2025.
var r6Published = [...]gp3Limits{
	{"today", 125, 2000, 0.25, 3000, 80_000},
	{"until September 2025", 125, 1000, 0.25, 3000, 16_000},
}

// most returns the greatest throughput that can be bought with the given IOPS.
func (l gp3Limits) most(iops float64) float64 { return min(l.perIOPS*iops, l.mostMiBps) }

// r6IOPS are the IOPS at which formula and limits are compared: the ends of the claimed
// range, and where a term of either changes.
var r6IOPS = []float64{3000, 3500, 4000, 6000, 8000, 12_000, 16_000}

// r6Same is the largest difference, as a share, of figures that count as the same.
const r6Same = 0.05

const (
	r6Way   = "direct write"
	r6Write = 256 << 10
	r6File  = 64 << 20
)

// r6 shows the throughput of this place. It decides nothing: a limit that we set ourselves
// would prove nothing about a gp3.
func r6() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "R6", Question: "How fast is one stream of direct writes here?",
		Op: "256 KiB past the page cache, over old data", Ops: 200, MaxRounds: 6,
		Variants: []lab.Variant{{
			Name: r6Way, Doc: "O_DIRECT, one request in flight", Promise: keptTorn, Baseline: true,
			Run: inDir(func(b *lab.B) error {
				if err := datafile.Fill("data", r6File); err != nil {
					return err
				}
				f, err := fileop.OpenDirect("data")
				if err != nil {
					return err
				}
				p := sys.AlignedBuffer(r6Write, 4<<10)
				b.SetBytes(r6Write)
				for err == nil && b.Loop() {
					_, err = f.WriteAt(p, b.I()*r6Write%r6File)
				}
				return errors.Join(err, f.Close())
			}),
		}},
	}
}

func claimR6() Claim {
	e := r6()
	return Claim{
		ID: "R6",
		Source: reportR.source("3.1",
			"A gp3 volume's throughput is at most min(125 + 0.25 IOPS, 1000) MiB/s."),
		Statement:   "the formula of a gp3-like volume: min(125 + 0.25 x IOPS, 1000) MiB/s, 3,000-16,000 IOPS",
		Claimed:     "as given",
		Promise:     "none: limits are compared; the writes shown beside them: kill, torn",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeR6(ev, e.ID(), r6Published[:]) },
	}
}

// judgeR6 compares the formula with the vendor's published limits.
func judgeR6(ev *evidence, id string, published []gp3Limits) judgement {
	var parts []part
	for _, l := range published {
		var off []string
		for _, iops := range r6IOPS {
			got, most := r6Formula(iops), l.most(iops)
			if math.Abs(got-most) > r6Same*most {
				off = append(off, fmt.Sprintf("at %.0f IOPS %.0f MiB/s, %.0f can be bought", iops, got, most))
			}
		}
		figure := "as the formula says"
		if len(off) > 0 {
			figure = strings.Join(off, "; ")
		}
		parts = append(parts, fact(fmt.Sprintf("the formula is the most that can be bought, within %.0f %%", 100*r6Same), len(off) == 0, figure).
			under("limits "+l.when).note(fmt.Sprintf("%.0f MiB/s with every volume, at most %.2g MiB/s for each of the IOPS and %.0f in all", l.baseMiBps, l.perIOPS, l.mostMiBps)))
	}
	if r := ev.results[id]; r != nil {
		for _, v := range r.Variants {
			if v.Name == r6Way && v.Error == "" && v.Time.N > 0 {
				parts = append(parts, figureOf("one stream of direct writes here, which says nothing about a gp3", fmt.Sprintf("%.0f MiB/s", r6Write/v.Time.Median*1e9/(1<<20))))
			}
		}
	}
	return ruling(fmt.Sprintf("Judged by arithmetic against the vendor's published limits (docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html, today's maxima as reported in November 2026, the earlier ones as of the announcement of September 2025) at %.0f to %.0f IOPS: a formula must hold in its whole range. IOPS and throughput are bought apart, so no formula gives one from the other; it can only give the most that can be bought. The report's table has 500 MiB/s at 3,000 IOPS, where its formula gives 875. A volume that we throttle ourselves proves nothing about the vendor's.",
		r6IOPS[0], r6IOPS[len(r6IOPS)-1]), parts...)
}
