package claims

import (
	"fmt"
	"strconv"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

const variantCrowd = "os.Create + Close"

// c2 is the workload of C1 with 1,000 goroutines, each of which creates several files.
func c2(job, doc string, each int, name func(i int) string) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C2-" + job, Params: run.Params{"each": strconv.Itoa(each)},
		Question: "Where do the 1,000 goroutines wait?",
		Op:       "one os.Create and Close, by 1,000 goroutines at once",
		Ops:      int64(each) * publishedFiles, MaxRounds: lab.MinRounds, Waits: true, Env: eightThreads(),
		Variants: []lab.Variant{{
			Name: variantCrowd, Doc: doc, Promise: kill, Baseline: true,
			Run: inDir(func(b *lab.B) error {
				return deal(b, publishedFiles, func(i int64) error { return createAndClose(name(int(i))) })
			}),
		}},
	}
}

func claimC2() Claim {
	titled := c2("titled", "1,000 distinct names, as the title says", 1, distinctName)
	longer := c2("titled", "10,000 distinct names: the same for longer, so that more of it is seen", 10, distinctName)
	coded := c2("coded", "as coded: test_ and one of 26 letters, so that most calls truncate", 10, letterName)
	return Claim{
		ID: "C2",
		Source: reportC.source("ch. 1, Observations",
			"97 % of the 1,000 goroutines wait in ext4's inode creation, blocked in jbd2_journal_lock_updates."),
		Statement:   "where the 1,000 goroutines of C1 wait",
		Claimed:     "97 % in ext4's journal while allocating the inode",
		Promise:     killText,
		Experiments: []lab.Experiment{titled, longer, coded},
		Needs:       onExt4Journal,
		judge:       func(ev *evidence) judgement { return judgeC2(ev, titled.ID(), longer.ID(), coded.ID()) },
	}
}

func judgeC2(ev *evidence, titled, longer, coded string) judgement {
	const claimed = 0.97
	journal := causeIs(run.CauseJournalInode)
	text := ""
	share := func(what, id string) (blocks []watched, a answer) {
		blocks = ev.watched(id, variantCrowd, "trace", "kernel", "stack")
		e := waitShare(blocks, journal, anyWait)
		text += fmt.Sprintf("%s: of the time that goroutines waited, %s; in the journal for an inode %s. ", what, waitList(blocks, 3), shareText(e))
		return blocks, atLeast(e, claimed*(1-slack))
	}
	_, once := share("One new name each", titled)
	blocks, many := share("Ten new names each", longer)
	inKernel := waitShare(blocks, journal, kernelWait)
	text += fmt.Sprintf("Of the waits in the kernel alone: %s. ", shareText(inKernel))
	_, asCoded := share("As coded, ten each", coded)
	return decide(text,
		fmt.Sprintf("The journal had to take %.0f %% of the waiting, 97 less a tenth: of all of it, and of the part in the kernel alone. An execution trace followed the goroutines, and samples of kernel stacks the threads. GOMAXPROCS was 8, so all but a few goroutines wait before they make a system call. A thread that spins for a lock on a CPU is not waiting.", 100*claimed*(1-slack)),
		"what counts as waiting, or which names are created", once, many, atLeast(inKernel, claimed*(1-slack)), asCoded)
}
