package claims

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

// The variants of H4.
const (
	h4Fresh  = "Go, new memory"
	h4Reused = "Go, memory used before"
	h4Python = "Python, header + payload"
)

// An h4Size is a payload with the time claimed for it.
type h4Size struct {
	name    string
	bytes   int
	claimed float64 // nanoseconds
}

var h4Sizes = []h4Size{{"1KiB", 1 << 10, 230}, {"1MiB", 1 << 20, 18_700}, {"10MiB", 10 << 20, 71_400}}

// h4Join is a metric of all variants: the time to join, which in Python is taken inside the
// interpreter.
const h4Join = "join_ns"

// h4Script joins as the report codes it. It prints nanoseconds for all of its rounds.
const h4Script = `
import sys, time
n, rounds = int(sys.argv[1]), int(sys.argv[2])
header, payload = b"h" * 128, b"p" * n
begun = time.perf_counter_ns()
for _ in range(rounds):
    joined = header + payload
print(time.perf_counter_ns() - begun, len(joined))
`

func h4(size h4Size) lab.Experiment {
	n := size.bytes
	inGo := func(name, doc string, join func(head, payload, last []byte) []byte) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			head, payload := headers.Head(headerLen), headers.Head(n)
			joined := join(head, payload, nil)
			b.SetBytes(int64(headerLen + n))
			for b.Loop() {
				joined = join(head, payload, joined)
			}
			if len(joined) != headerLen+n {
				return fmt.Errorf("joined %d bytes, want %d", len(joined), headerLen+n)
			}
			return nil
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "H4", Params: run.Params{"payload": size.name},
		Question: "How does the time to join header and payload grow with the payload?",
		Op:       fmt.Sprintf("128 bytes and %s joined in memory", size.name), Stateless: true, MaxRounds: 12,
		Variants: firstIsBaseline(
			inGo(h4Fresh, "as meant: one allocation and two copies", func(head, payload, _ []byte) []byte {
				return append(append(make([]byte, 0, headerLen+n), head...), payload...)
			}),
			inGo(h4Reused, "as meant: two appends to the memory of the last time", func(head, payload, last []byte) []byte {
				return append(append(last[:0], head...), payload...)
			}),
			lab.Variant{Name: h4Python, Doc: "as coded: bytes in Python 3, timed inside the interpreter", Promise: job.NothingWritten(), Run: func(b *lab.B) error {
				return runH4Python(b, n)
			}}),
	}
}

// h4Rounds is how often Python joins in one operation: more for small payloads, so that its
// start is a small part of a block.
func h4Rounds(n int) int { return max(10, (64<<20)/(n+headerLen)) }

func runH4Python(b *lab.B, n int) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return job.Unsupported("python3 is not installed")
	}
	rounds, sum := h4Rounds(n), 0.0
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), python, "-c", h4Script, strconv.Itoa(n), strconv.Itoa(rounds))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("python3: %w", err)
		}
		fields := strings.Fields(string(out))
		if len(fields) != 2 || fields[1] != strconv.Itoa(n+headerLen) {
			return fmt.Errorf("python3 printed %q", out)
		}
		ns, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return err
		}
		sum += ns / float64(rounds)
	}
	b.Report(h4Join, sum/float64(b.N))
	return nil
}

func claimH4() Claim {
	return Claim{
		ID: "H4",
		Source: reportH.source("3.3",
			"Joining a header and a payload in memory takes 0.23 us for 1 KB, 18.7 for 1 MB and 71.4 for 10 MB: it is not linear."),
		Statement:   "header + payload joined in memory, 1 KiB, 1 MiB, 10 MiB: as coded in Python, as meant in Go (new memory, memory used before)",
		Claimed:     "0.23, 18.7, 71.4 us: not linear",
		Promise:     noneText,
		Experiments: experiments(h4, h4Sizes...),
		judge:       judgeH4,
	}
}

// h4Time returns the time to join.
func (ev *evidence) h4Time(s h4Size, variant string) run.Estimate {
	if variant == h4Python {
		return ev.metric(idOf(h4(s)), variant, h4Join)
	}
	return ev.time(idOf(h4(s)), variant)
}

// judgeH4 asks whether the time from 1 to 10 MiB grows as the size to a power outside 0.9 to
// 1.1, in either direction: the figures say less than linear, the reason given says more.
func judgeH4(ev *evidence) judgement {
	var parts []part
	for _, v := range []string{h4Python, h4Fresh, h4Reused} {
		cond := map[string]string{h4Python: "as coded, Python", h4Fresh: "Go, new memory", h4Reused: "Go, memory used before"}[v]
		for i, s := range h4Sizes[1:] {
			before := h4Sizes[i]
			what := fmt.Sprintf("the power of growth from %s to %s", before.name, s.name)
			if why := ev.withoutVariant(idOf(h4(s)), v); why != "" {
				parts = append(parts, lacking(what, why).under(cond))
				continue
			}
			grew := powerOf(quotient(ev.h4Time(s, v), ev.h4Time(before, v)), float64(s.bytes+headerLen)/float64(before.bytes+headerLen))
			p := notSame(what, grew).under(cond).note(fmt.Sprintf("%s and %s", nanos(ev.h4Time(before, v)), nanos(ev.h4Time(s, v))))
			if i == 0 {
				p = p.onlyShown()
			}
			parts = append(parts, p)
		}
		parts = append(parts, figureOf("bytes a second at 10 MiB", units.Decimal(float64(h4Sizes[2].bytes)/ev.h4TimeOrNaN(v)*1e9)).under(cond))
	}
	return ruling("Linear is a power of 1. The kernel or the runtime zeroes new memory, and the kernel maps large memory page by page, which is in the figures; memory of 10 MiB fits fewer caches than 1 MiB. The claimed 10 MB in 71.4 us would be 147 GB/s.", parts...)
}

func (ev *evidence) h4TimeOrNaN(v string) float64 {
	if ev.withoutVariant(idOf(h4(h4Sizes[2])), v) != "" {
		return math.NaN()
	}
	return ev.h4Time(h4Sizes[2], v).Median
}

// withoutVariant returns why a variant failed, or "" if it has figures or was not run.
func (ev *evidence) withoutVariant(id, name string) string {
	if r := ev.results[id]; r != nil {
		for i := range r.Variants {
			if r.Variants[i].Name == name {
				return r.Variants[i].Error
			}
		}
	}
	return ""
}

// powerOf returns the power of base that e is.
func powerOf(e run.Estimate, base float64) run.Estimate {
	log := func(x float64) float64 { return math.Log(x) / math.Log(base) }
	e.Median, e.Lo, e.Hi = log(e.Median), log(e.Lo), log(e.Hi)
	return e
}

// notSame returns the part of a figure that is claimed not to be 1: yes wholly outside the
// range of the same, no wholly within it.
func notSame(what string, e run.Estimate) part {
	p := same(what, e)
	p.figure = fmt.Sprintf("%.2f %s", e.Median, interval(e, "%.2f"))
	p.limit = fmt.Sprintf("want less than %.1f or more than %.1f", sameLo, sameHi)
	switch p.answer {
	case yes:
		p.answer = no
	case no:
		p.answer = yes
	case untested:
		p.figure = ""
	}
	return p
}
