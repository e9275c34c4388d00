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
	variantOwnNames    = "own names"
	variantCommonNames = "common names"
)

// lookUpAndCreate has 1,000 goroutines look up a name that does not exist and create
// another, in one directory.
func lookUpAndCreate(lookUp func(id int, i int64) string) func(*lab.B) error {
	return inDir(func(b *lab.B) error {
		return b.Parallel(publishedFiles, func(w *lab.Worker) error {
			for w.Loop() {
				_, err := os.Lstat(lookUp(w.ID, w.I()))
				if !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("look up a name that does not exist: %w", err)
				}
				if err := createAndClose("test_" + strconv.Itoa(w.ID) + "_" + strconv.FormatInt(w.I(), 10)); err != nil {
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
		Op:  "one name looked up and one file created, by 1,000 goroutines in one directory",
		Ops: 10 * publishedFiles, MaxRounds: lab.MinRounds, Waits: true, Env: eightThreads(),
		Variants: []lab.Variant{
			{
				Name: variantOwnNames, Doc: "each goroutine looks up names of its own", Promise: kill, Baseline: true,
				Run: lookUpAndCreate(func(id int, i int64) string {
					return "look_" + strconv.Itoa(id) + "_" + strconv.FormatInt(i, 10)
				}),
			},
			{
				Name: variantCommonNames, Doc: "all look up the same names at about the same time", Promise: kill,
				Run: lookUpAndCreate(func(_ int, i int64) string { return "look_" + strconv.FormatInt(i, 10) }),
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

// judgeC13 compares the ratio of the two waits: the times belong to another machine.
func judgeC13(ev *evidence, id string) judgement {
	const claimed = 38.0 / 127
	text := ""
	ask := func(name string) answer {
		blocks := ev.watched(id, name, "trace", "kernel")
		lock, cache := waitPerOp(blocks, causeIs(run.CauseDirectoryLock)), waitPerOp(blocks, causeIs(run.CauseNameCache))
		if ev.missing == nil && lock.Hi == 0 && cache.Hi == 0 {
			text += fmt.Sprintf("%s: no thread waited for either; %s. ", name, waitList(blocks, 3))
			return no
		}
		ratio := waitShare(blocks, causeIs(run.CauseNameCache), func(w *run.Wait) bool {
			return w.Cause == run.CauseDirectoryLock || w.Cause == run.CauseNameCache
		})
		text += fmt.Sprintf("%s: %s an operation on the directory's lock, %s on the name cache; of all waiting, %s. ",
			name, micros(lock), micros(cache), waitList(blocks, 3))
		share := claimed / (1 + claimed) // of the two together
		return within(ratio, share*0.75, share*1.25)
	}
	answers := []answer{ask(variantOwnNames), ask(variantCommonNames)}
	return decide(text,
		fmt.Sprintf("The name cache had to take the claimed share of the two waits, %.0f %% to within a quarter of it. A wait on the name cache is one for another lookup of the same name; a thread that spins for a lock counts as running. The report draws the causes over time.", 100*claimed/(1+claimed)),
		"which names are looked up", answers...)
}
