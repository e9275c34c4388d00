package claims

import (
	"cmp"
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

// h4Join is the time to join in Python, taken inside the interpreter.
const h4Join = "join_ns"

func h4Name(way string, size h4Size) string { return way + ", " + size.name }

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

// h4 joins payloads of all sizes in the same rounds. None is the baseline of another.
func h4() lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H4", Question: "How does the time to join header and payload grow with the payload?",
		Op: "128 bytes and a payload of 1 KiB, 1 MiB or 10 MiB joined in memory", Stateless: true, MaxRounds: 12,
	}
	for _, size := range h4Sizes {
		e.Variants = append(e.Variants,
			h4InGo(h4Fresh, "as meant: one allocation and two copies", size, func(head, payload, _ []byte) []byte {
				return append(append(make([]byte, 0, headerLen+size.bytes), head...), payload...)
			}),
			h4InGo(h4Reused, "as meant: two appends to the memory of the last time", size, func(head, payload, last []byte) []byte {
				return append(append(last[:0], head...), payload...)
			}),
			lab.Variant{Name: h4Name(h4Python, size), Doc: "as coded: bytes in Python 3, timed inside the interpreter", Promise: job.NothingWritten(), Run: func(b *lab.B) error {
				return runH4Python(b, size.bytes)
			}})
	}
	return e
}

func h4InGo(way, doc string, size h4Size, join func(head, payload, last []byte) []byte) lab.Variant {
	return lab.Variant{Name: h4Name(way, size), Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
		head, payload := headers.Head(headerLen), headers.Head(size.bytes)
		joined := join(head, payload, nil)
		b.SetBytes(int64(headerLen + size.bytes))
		for b.Loop() {
			joined = join(head, payload, joined)
		}
		if len(joined) != headerLen+size.bytes {
			return fmt.Errorf("joined %d bytes, want %d", len(joined), headerLen+size.bytes)
		}
		return nil
	}}
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
	e := h4()
	return Claim{
		ID: "H4",
		Source: reportH.source("3.3",
			"Joining a header and a payload in memory takes 0.23 us for 1 KB, 18.7 for 1 MB and 71.4 for 10 MB: it is not linear."),
		Statement:   "header + payload joined in memory, 1 KiB, 1 MiB, 10 MiB: as coded in Python, as meant in Go (new memory, memory used before)",
		Claimed:     "0.23, 18.7, 71.4 us: not linear",
		Promise:     noneText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeH4(ev, e.ID()) },
	}
}

// h4Time returns the time to join.
func (ev *evidence) h4Time(id, way string, size h4Size) run.Estimate {
	if way == h4Python {
		return ev.metric(id, h4Name(way, size), h4Join)
	}
	return ev.time(id, h4Name(way, size))
}

// h4Growth returns how many times as long as a payload another one takes.
func (ev *evidence) h4Growth(id, way string, of, before h4Size) run.Estimate {
	if way == h4Python {
		return ev.ratioOf(id, h4Join, h4Name(way, of), h4Name(way, before))
	}
	return ev.ratio(id, h4Name(way, of), h4Name(way, before))
}

// judgeH4 asks whether the time from 1 to 10 MiB grows as the size to a power outside 0.9 to
// 1.1, in either direction: the figures say less than linear, the reason given says more.
func judgeH4(ev *evidence, id string) judgement {
	var parts []part
	for _, way := range []string{h4Python, h4Fresh, h4Reused} {
		cond := map[string]string{h4Python: "as coded, Python", h4Fresh: "Go, new memory", h4Reused: "Go, memory used before"}[way]
		for i, s := range h4Sizes[1:] {
			before := h4Sizes[i]
			what := fmt.Sprintf("the power of growth from %s to %s", before.name, s.name)
			if why := cmp.Or(ev.withoutVariant(id, h4Name(way, before)), ev.withoutVariant(id, h4Name(way, s))); why != "" {
				parts = append(parts, lacking(what, why).under(cond))
				continue
			}
			grew := powerOf(ev.h4Growth(id, way, s, before), float64(s.bytes+headerLen)/float64(before.bytes+headerLen))
			p := notSame(what, grew).under(cond).note(fmt.Sprintf("%s and %s", nanos(ev.h4Time(id, way, before)), nanos(ev.h4Time(id, way, s))))
			if i == 0 {
				p = p.onlyShown()
			}
			parts = append(parts, p)
		}
		if large := h4Sizes[2]; ev.withoutVariant(id, h4Name(way, large)) == "" {
			parts = append(parts, figureOf("bytes a second at 10 MiB", units.Decimal(float64(large.bytes)/ev.h4Time(id, way, large).Median*1e9)).under(cond))
		}
	}
	return ruling("Linear is a power of 1. The kernel or the runtime zeroes new memory, and the kernel maps large memory page by page, which is in the figures; memory of 10 MiB fits fewer caches than 1 MiB. The claimed 10 MB in 71.4 us would be 147 GB/s.", parts...)
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
