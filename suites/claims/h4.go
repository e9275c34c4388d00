package claims

import (
	"fmt"
	"math"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

const h4Joined = "joined in new memory"

// h4Sizes are the payloads, and what was claimed for each.
var h4Sizes = []struct {
	name    string
	bytes   int
	claimed float64 // nanoseconds
}{{"1KiB", 1 << 10, 230}, {"1MiB", 1 << 20, 18_700}, {"10MiB", 10 << 20, 71_400}}

func h4(size string, n int) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "H4", Params: run.Params{"payload": size},
		Question: "How does joining header and payload grow with the payload?",
		Op:       fmt.Sprintf("128 bytes and %s copied into new memory", size), Stateless: true,
		Variants: []lab.Variant{{
			Name: h4Joined, Doc: "make and two copies", Promise: job.NothingWritten(), Baseline: true,
			Run: func(b *lab.B) error {
				head, payload := headers.Head(headerLen), headers.Head(n)
				b.SetBytes(int64(headerLen + n))
				var joined []byte
				for b.Loop() {
					joined = append(append(make([]byte, 0, headerLen+n), head...), payload...)
				}
				if len(joined) != headerLen+n {
					return fmt.Errorf("joined %d bytes, want %d", len(joined), headerLen+n)
				}
				return nil
			},
		}},
	}
}

func claimH4() Claim {
	c := Claim{
		ID: "H4",
		Source: reportH.source("3.3",
			"Joining a header and a payload in memory takes 0.23 us for 1 KB, 18.7 for 1 MB and 71.4 for 10 MB: it is not linear."),
		Statement: "header + payload joined in memory, 1 KiB, 1 MiB, 10 MiB",
		Claimed:   "0.23, 18.7, 71.4 us: not linear",
		Promise:   noneText,
		judge:     judgeH4,
	}
	for _, s := range h4Sizes {
		c.Experiments = append(c.Experiments, h4(s.name, s.bytes))
	}
	return c
}

// judgeH4 takes "not linear" as the figures show it: the time grows by less
// than the size. A step is judged to be so when its factor lies more than a
// quarter below the size's.
func judgeH4(ev *evidence) judgement {
	var answers []answer
	text := ""
	for i, s := range h4Sizes {
		e := h4(s.name, s.bytes)
		t := ev.time(e.ID(), h4Joined)
		text += fmt.Sprintf("%s %s, %s/s. ", s.name, nanos(t), units.Decimal(float64(s.bytes)/t.Median*1e9))
		if i == 0 {
			continue
		}
		before := h4Sizes[i-1]
		prev := h4(before.name, before.bytes)
		size := float64(s.bytes) / float64(before.bytes)
		grew := quotient(t, ev.time(prev.ID(), h4Joined))
		text += fmt.Sprintf("From %s to %s: %s for %.0fx the bytes, as the size to the power %.2f (claimed %.1fx). ", before.name, s.name,
			factor(grew), size, math.Log(grew.Median)/math.Log(size), s.claimed/before.claimed)
		answers = append(answers, atLeast(inverse(grew), 1/(0.75*size)))
	}
	verdict, why := decide("At each step the time was asked to grow by less than three quarters of what the size does. The new memory is zeroed and, when it is large, fetched page by page from the system, which is in the figures. The claimed 10 MiB in 71.4 us would be 147 GB/s.",
		"the size", answers...)
	return judgement{text[:len(text)-1], verdict, why}
}
