package claims

import (
	"math"
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
			Run: onlyOn(inDir(func(b *lab.B) error {
				return deal(b, publishedFiles, func(i int64) error { return createAndClose(name(int(i))) })
			}), "ext4"),
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
	const share = 0.97
	journal := causeIs(run.CauseJournalInode)
	lack := ev.processors(c1Processors)
	var parts []part
	for _, c := range []struct {
		how, id string
		decides bool
	}{{"as titled, one new name each", titled, true}, {"as titled, ten new names each", longer, true}, {"as coded, ten each", coded, false}} {
		blocks := ev.watched(c.id, variantCrowd, "trace", "kernel", "stack")
		p := least("waits in ext4's journal below inode creation, of all waits in the kernel", waitShare(blocks, journal, kernelWait), share*(1-slack), shareText).under(c.how)
		if !c.decides {
			p = p.wrong("26 files are made, and all other calls truncate one of them")
		}
		if len(blocks) == 0 {
			parts = append(parts, p.needs(lack))
			continue
		}
		if math.IsNaN(p.est.Median) {
			p = p.needs("a wait in the kernel: no thread was seen waiting there")
		}
		parts = append(parts, p.needs(lack), figureOf("where goroutines waited ("+c.how+")", waitList(blocks, 4)))
	}
	return ruling("The kernel stacks of waiting threads were sampled. GOMAXPROCS is 8, so all but a few goroutines wait before they make a system call; these have no kernel stack. A thread that spins for a lock on a processor is not waiting. Linux has no function of the first name that the report gives.", parts...)
}
