package claims

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// r5Bytes is what the report copies.
const r5Bytes = 32 << 10

// r5Copies are the copies of one run of the program.
const r5Copies = 500

// The Go versions of R5, and the one that is at hand.
const (
	r5Old     = "go1.21"
	r5New     = "go1.22"
	r5Present = "the go command at hand"
)

// Metrics of R5, as the program counts them: nanoseconds and allocations of a copy.
const (
	r5CopyNS     = "copy_ns"
	r5CopyAllocs = "copy_allocs"
)

// r5Files are the ways in which the program opens its file.
var r5Files = []string{"buffered", "direct"}

// r5 runs the same program, built by each Go. An operation is a run of it; the figures are
// those that the program takes.
func r5(file string) lab.Experiment {
	variant := func(name, doc, version string) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: inDir(func(b *lab.B) error {
			program, err := r5Program(b, version)
			if err != nil {
				return err
			}
			var ns, allocs float64
			for b.Loop() {
				n, a, err := runR5(b.Context(), program, file)
				if err != nil {
					return err
				}
				ns, allocs = ns+n, allocs+a
			}
			b.Report(r5CopyNS, ns/float64(b.N))
			b.Report(r5CopyAllocs, allocs/float64(b.N))
			return nil
		})}
	}
	return lab.Experiment{
		Suite: "claims", Name: "R5", Params: run.Params{"file": file},
		Question: "Did io.CopyN from memory to a file become faster in Go 1.22?",
		Op:       fmt.Sprintf("a run of a program that copies 32 KiB from memory to a file %d times", r5Copies),
		MaxOps:   20, MaxRounds: 12,
		Variants: firstIsBaseline(
			variant(r5Old, "built by Go 1.21", "1.21"),
			variant(r5New, "built by Go 1.22", "1.22"),
			variant(r5Present, "built by the go command in PATH", "")),
	}
}

func claimR5() Claim {
	return Claim{
		ID: "R5",
		Source: reportR.source("2.5",
			"io.CopyN of 32 KB from memory to a file takes 285 us in Go 1.22 and 420 us in Go 1.21."),
		Statement:   "32 KiB from memory to *os.File with io.CopyN, the same program by Go 1.21, Go 1.22 and the present Go (the report's io.ToReader does not exist: bytes.Reader; reader and file are in the wrong order)",
		Claimed:     "420 to 285 us, about 32 % less",
		Promise:     "kill, torn, all variants: survives kill -9, not a power cut",
		Experiments: experiments(r5, r5Files...),
		judge:       judgeR5,
	}
}

// judgeR5 compares the two versions of Go.
func judgeR5(ev *evidence) judgement {
	const gain = 420. / 285
	var parts []part
	for _, file := range r5Files {
		id := idOf(r5(file))
		var lacks []string
		for _, v := range []string{r5Old, r5New} {
			if why := ev.withoutVariant(id, v); why != "" && !slices.Contains(lacks, why) {
				lacks = append(lacks, why)
			}
		}
		if len(lacks) > 0 {
			parts = append(parts, lacking("Go 1.22 against 1.21", joined(lacks)).under(file))
		} else {
			parts = append(parts, claimed("Go 1.22 against 1.21", ev.ratioOf(id, r5CopyNS, r5Old, r5New), gain).under(file).
				note(fmt.Sprintf("%s against %s", nanos(ev.metric(id, r5New, r5CopyNS)), nanos(ev.metric(id, r5Old, r5CopyNS)))))
		}
		for _, v := range []string{r5Old, r5New, r5Present} {
			if ev.withoutVariant(id, v) == "" {
				parts = append(parts, figureOf("a copy by "+v, fmt.Sprintf("%s, %.1f allocations", nanos(ev.metric(id, v, r5CopyNS)), ev.metric(id, v, r5CopyAllocs).Median)).under(file))
			}
		}
	}
	return ruling("The program is built by each Go from the same source and times its copies itself, without its start. Each copy goes over the same 32 KiB of a file that stays open.", parts...)
}
