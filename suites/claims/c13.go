package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

const (
	variantOneName  = "one name (as coded)"
	variantOwnNames = "1,000 names"
)

// lookUpAndCreate has 1,000 goroutines look up and create names in one directory.
func lookUpAndCreate(name func(id int) string) func(*lab.B) error {
	return inDir(func(b *lab.B) error {
		return b.Parallel(publishedFiles, func(w *lab.Worker) error {
			mine := name(w.ID)
			for w.Loop() {
				if _, err := os.Lstat(mine); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				if err := createAndClose(mine); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func claimC13() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "C13", Question: "How long does each wait for the directory's lock and for the name cache?",
		Op:  "one name looked up and created or truncated, by 1,000 goroutines in one directory",
		Ops: 10 * publishedFiles, MaxRounds: lab.MinRounds, Waits: true, Env: eightThreads(),
		Variants: []lab.Variant{
			{
				Name: variantOneName, Doc: "all look up and create one name; the first creates it and the others truncate it", Promise: kill, Baseline: true,
				Run: lookUpAndCreate(func(int) string { return "test" }),
			},
			{
				Name: variantOwnNames, Doc: "each looks up and creates a name of its own", Promise: kill,
				Run: lookUpAndCreate(func(id int) string { return "test_" + strconv.Itoa(id) }),
			},
		},
	}
	return Claim{
		ID: "C13",
		Source: reportC.source("4.1",
			"When 1,000 goroutines create one name, they wait 127 us for the folder's lock and 38 us for the dentry's."),
		Statement:   "1,000 goroutines looking up and creating in one directory: wait on the directory's lock and on the name cache",
		Claimed:     "127 us and 38 us, drawn as a heat map",
		Promise:     killText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC13(ev, e.ID()) },
	}
}

// judgeC13 compares the two waits with each other: the times belong to another machine.
func judgeC13(ev *evidence, id string) judgement {
	const more = 127. / 38
	lack := ev.processors(c1Processors)
	var parts []part
	for _, c := range []struct {
		name, how string
		named     bool // by the report
	}{{variantOneName, "one name, as coded", true}, {variantOwnNames, "1,000 names", false}} {
		blocks := ev.watched(id, c.name, "trace", "kernel")
		const what = "wait for the directory's lock against that for the name's entry"
		if len(blocks) == 0 {
			parts = append(parts, part{what: what, cond: c.how, named: c.named, answer: untested}.needs(lack))
			continue
		}
		lock, cache := waitPerOp(blocks, causeIs(run.CauseDirectoryLock)), waitPerOp(blocks, causeIs(run.CauseNameCache))
		text := fmt.Sprintf("%s and %s an operation", micros(lock), micros(cache))
		// The share of both together: a ratio has no figure where one of them is 0.
		share := waitShare(blocks, causeIs(run.CauseDirectoryLock), func(w *run.Wait) bool {
			return w.Cause == run.CauseDirectoryLock || w.Cause == run.CauseNameCache
		})
		want := more * (1 - slack)
		p := inRange(what, share, want/(1+want), 1, text, fmt.Sprintf("want %s or more (claimed %s), %.0f %% of both", times(want), times(more), 100*want/(1+want)))
		if lock.Hi == 0 && cache.Hi == 0 {
			p = fact(what, false, "no thread waited for either")
		}
		p.cond, p.named = c.how, c.named
		parts = append(parts, p.needs(lack), figureOf("where goroutines waited ("+c.how+")", waitList(blocks, 4)))
	}
	return ruling("The kernel stacks of waiting threads were sampled. A wait for a name's entry is one for another look-up of it; a thread that spins for a lock counts as running. "+onFS(ev), parts...)
}
