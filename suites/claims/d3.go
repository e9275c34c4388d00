package claims

import (
	"cmp"
	"fmt"
	"os"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantCreate = "create + close"
	variantOpen   = "open + close"
	variantStrace = "create + close under strace"
)

// emptyFiles opens and closes a file for each operation. before: it creates them all first.
func emptyFiles(b *lab.B, flags int, before bool) error {
	names := allPaths(b.N, func(i int) string { return "f" + strconv.Itoa(i) })
	for i := 0; before && i < len(names); i++ {
		if err := touch(names[i], os.O_CREATE|os.O_EXCL|os.O_WRONLY); err != nil {
			return err
		}
	}
	for b.Loop() {
		if err := touch(names[b.I()], flags); err != nil {
			return err
		}
	}
	return nil
}

const d3Question = "What does allocating the inode of an empty file cost?"

// createEmpty creates the files of a block.
func createEmpty(b *lab.B) error { return emptyFiles(b, os.O_CREATE|os.O_EXCL|os.O_WRONLY, false) }

// d3On runs f in a block's directory on one of the claim's file systems.
func d3On(f func(b *lab.B) error) func(b *lab.B) error { return onlyOn(inDir(f), "ext4", "xfs") }

func d3(files int64) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "D3", Params: run.Params{"files": strconv.FormatInt(files, 10)}, Question: d3Question,
		Op: fmt.Sprintf("one empty file in a directory that ends with %d", files), Ops: files, MaxRounds: 8, Env: asPublished(),
		Variants: []lab.Variant{{
			Name: variantCreate, Doc: "os.OpenFile with O_CREATE and O_EXCL, and Close, untraced", Promise: kill, Baseline: true, Run: d3On(createEmpty),
		}},
	}
	if files < publishedOps {
		e.Variants = append(e.Variants, lab.Variant{
			Name: variantOpen, Doc: "the same calls on files that exist: all but the allocation and the name", Promise: job.NothingWritten(),
			Run: d3On(func(b *lab.B) error { return emptyFiles(b, os.O_WRONLY, true) }),
		})
	}
	return e
}

// d3StraceFiles is how many files are created under strace, which makes each take many times as
// long.
const d3StraceFiles = 400

// d3Strace is the report's own measurement: strace stops the process twice a call, and the
// times that it prints include that.
func d3Strace() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D3-strace", Question: d3Question,
		Op: "one empty file, under strace -e trace=mkdir,creat,openat", Ops: d3StraceFiles, MaxRounds: lab.MinRounds, Env: asPublished(),
		Variants: []lab.Variant{{
			Name: variantStrace, Doc: "as coded: strace -T is attached to the process and times each openat, with its own stops", Promise: kill, Baseline: true,
			Run: d3On(func(b *lab.B) error { return underStrace(b, createEmpty) }),
		}},
	}
}

// d3Few is a directory of fewer files than published.
const d3Few = 10_000

func claimD3() Claim {
	few, all, strace := d3(d3Few), d3(publishedOps), d3Strace()
	return Claim{
		ID: "D3",
		Source: reportD.source("2.3, Inode allocation",
			"Allocating an inode takes 8.2 us on ext4 and 5.6 us on XFS, over 100,000 empty files."),
		Statement:   "100,000 empty files: time of inode allocation, ext4 and XFS on one device",
		Claimed:     "8.2 and 5.6 us a file: XFS 1.46x as fast",
		Promise:     killText,
		Experiments: []lab.Experiment{few, all, strace},
		Needs:       onExt4OrXFS,
		judgeAll:    func(all3 []*evidence) judgement { return judgeD3(all3, few.ID(), all.ID(), strace.ID()) },
	}
}

// judgeD3 judges the whole call: no time inside the kernel is taken, and what surrounds the
// allocation is nearly the same in both.
func judgeD3(all []*evidence, few, many, strace string) judgement {
	const what, faster = "speed of XFS against ext4, one file", 8.2 / 5.6
	var parts []part
	for _, ev := range all {
		if onExt4OrXFS(ev.place.Environment) != "" {
			continue
		}
		created, opened := ev.time(few, variantCreate), ev.time(few, variantOpen)
		parts = append(parts, figureOf(ev.place.Name+", a directory of "+strconv.Itoa(d3Few), fmt.Sprintf("%s to create, %s more than to open",
			nanos(created), nanos(difference(created, opened)))))
	}
	at, lack := firstOn(all, "ext4", "xfs")
	if lack == "" {
		lack = sameDisk(at["ext4"].place.Environment, at["xfs"].place.Environment)
	} else {
		return ruling("", append(parts, lacking(what, lack))...)
	}
	journal := "ext4's journal: " + at["ext4"].place.Environment.Journal
	ratio := func(id, v, metric string) run.Estimate { return betweenPlaces(at["ext4"], at["xfs"], id, v, metric) }
	parts = append(parts,
		claimed(what, ratio(many, variantCreate, ""), faster).underNamed("100,000 files, as meant: untraced; "+journal).needs(lack),
		claimed(what, ratio(few, variantCreate, ""), faster).under(fmt.Sprintf("%d files, as meant: untraced; %s", d3Few, journal)).needs(lack))
	coded := fmt.Sprintf("%d files, as coded: as strace prints it; %s", d3StraceFiles, journal)
	if why := cmp.Or(at["ext4"].failed(strace), at["xfs"].failed(strace)); why != "" {
		parts = append(parts, lacking(what, "strace: "+why).underNamed(coded))
	} else {
		parts = append(parts, claimed(what, ratio(strace, variantStrace, straceMean), faster).underNamed(coded).needs(lack))
	}
	return ruling("The time inside the kernel's allocation is not taken: the whole call is judged.", parts...)
}
