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

// An h4Size is a payload with the time claimed for it.
type h4Size struct {
	name    string
	bytes   int
	claimed float64 // nanoseconds
}

var h4Sizes = []h4Size{{"1KiB", 1 << 10, 230}, {"1MiB", 1 << 20, 18_700}, {"10MiB", 10 << 20, 71_400}}

func h4(size h4Size) lab.Experiment {
	n := size.bytes
	return lab.Experiment{
		Suite: "claims", Name: "H4", Params: run.Params{"payload": size.name},
		Question: "How does the time to join header and payload grow with the payload?",
		Op:       fmt.Sprintf("128 bytes and %s copied into new memory", size.name), Stateless: true,
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
	return Claim{
		ID: "H4",
		Source: reportH.source("3.3",
			"Joining a header and a payload in memory takes 0.23 us for 1 KB, 18.7 for 1 MB and 71.4 for 10 MB: it is not linear."),
		Statement:   "header + payload joined in memory, 1 KiB, 1 MiB, 10 MiB",
		Claimed:     "0.23, 18.7, 71.4 us: not linear",
		Promise:     noneText,
		Experiments: experiments(h4, h4Sizes...),
		judge:       judgeH4,
	}
}

// judgeH4 takes "not linear" as the figures show it: the time grows by less than the size.
// The factor of a step must be more than a quarter below that of the size.
func judgeH4(ev *evidence) judgement {
	var answers []answer
	text := ""
	for i, s := range h4Sizes {
		t := ev.time(idOf(h4(s)), h4Joined)
		text += fmt.Sprintf("%s %s, %s/s. ", s.name, nanos(t), units.Decimal(float64(s.bytes)/t.Median*1e9))
		if i == 0 {
			continue
		}
		before := h4Sizes[i-1]
		size := float64(s.bytes) / float64(before.bytes)
		grew := quotient(t, ev.time(idOf(h4(before)), h4Joined))
		text += fmt.Sprintf("From %s to %s: %s for %.0fx the bytes, as the size to the power %.2f (claimed %.1fx). ", before.name, s.name,
			factor(grew), size, math.Log(grew.Median)/math.Log(size), s.claimed/before.claimed)
		answers = append(answers, atLeast(inverse(grew), 1/(0.75*size)))
	}
	return decide(text, "At each step the time had to grow by less than three quarters of the size's factor. The kernel or the runtime zeroes new memory, and the kernel maps large memory page by page, which is in the figures. The claimed 10 MiB in 71.4 us would be 147 GB/s.",
		"the size", answers...)
}
