package claims

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// The variants of H7.
const (
	h7Buffered     = "buffered only"
	h7SyncEach     = "fsync on each write"
	h7CommitFormat = "fsync on commit, every %d"
)

// h7Sizes are the records of a commit, which the claim does not name.
var h7Sizes = []int64{100, 1_000, 10_000}

func h7Commit(every int64) string { return fmt.Sprintf(h7CommitFormat, every) }

// h7Records is how many records the blocks with commits write: ten of the largest commits.
const h7Records = 100_000

// h7Variant commits after that many records, or never if every is 0.
func h7Variant(name, doc string, every int64, p run.Promise) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: p, Run: inDir(func(b *lab.B) error {
		f, err := os.OpenFile("log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		record, w := headers.Head(headerLen), bufio.NewWriter(f)
		err = errors.Join(f.Sync(), datafile.SyncDir("."))
		b.SetBytes(headerLen)
		for err == nil && b.Loop() {
			_, err = w.Write(record)
			if err == nil && every > 0 && (b.I()+1)%every == 0 {
				if err = w.Flush(); err == nil {
					err = f.Sync()
				}
			}
		}
		return errors.Join(err, w.Flush(), f.Close())
	})}
}

const h7Question = "What does it cost to make records durable, one by one and by commits?"

// h7Commits compares buffering with commits. h7Each, the fsync on each write, has fewer
// records: as many would take minutes.
func h7Commits() lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H7-commit", Question: h7Question,
		Op: "one record of 128 bytes", Ops: h7Records, MaxRounds: 10,
		Variants: firstIsBaseline(h7Variant(h7Buffered, "bufio.Writer; buffered records are lost with the process", 0, lost)),
	}
	for _, n := range h7Sizes {
		e.Variants = append(e.Variants, h7Variant(h7Commit(n),
			fmt.Sprintf("bufio.Writer, flushed and synced after %d records; those since the last commit are lost with the process", n), n, lost))
	}
	return e
}

func h7Each() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "H7-each", Question: h7Question,
		Op: "one record of 128 bytes", MaxOps: 5_000,
		Variants: firstIsBaseline(h7Variant(h7SyncEach, "bufio.Writer, flushed and synced after each record", 1, powerTorn)),
	}
}

func claimH7() Claim {
	commits, each := h7Commits(), h7Each()
	return Claim{
		ID: "H7",
		Source: reportH.source("4.4",
			"bufio takes 0.8 us an operation, fsync each time 310 us, and fsync on commit 1.1 us."),
		Statement:   "buffered only; fsync on each write; buffered with fsync on commit",
		Claimed:     "125k, 3.2k, 98k a millisecond; 0.8, 310, 1.1 us",
		Promise:     "none when buffered; power, torn with fsync on each write; with commits none, torn for the records since the last one",
		Experiments: []lab.Experiment{commits, each},
		Needs:       onDisk,
		judge:       func(ev *evidence) judgement { return judgeH7(ev, commits.ID(), each.ID()) },
	}
}

// judgeH7 has two sets of ratios: of the claimed times, 310/0.8 and 1.1/0.8, and of the
// claimed rates, 125/3.2 and 125/98. They contradict each other: one record in 0.8 us is
// 1,250 a millisecond. The one that is easier to meet counts.
func judgeH7(ev *evidence, id, eachID string) judgement {
	const (
		syncTimes  = 125. / 3.2 // the least ratio of a write with fsync to a buffered one
		commitMost = 1.1 / 0.8  // and the greatest of a write with commits
	)
	buffered, each := ev.time(id, h7Buffered), ev.time(eachID, h7SyncEach)
	cost := quotient(each, buffered)
	answers := []answer{claimedFactor(cost, syncTimes)}
	text := fmt.Sprintf("Buffered %s, fsync on each write %s (%.0fx)", nanos(buffered), nanos(each), cost.Median)
	for _, n := range h7Sizes {
		c := ev.time(id, h7Commit(n))
		ratio := inverse(ev.speedup(id, h7Commit(n)))
		answers = append(answers, atMost(ratio, commitMost))
		text += fmt.Sprintf(", a commit every %d %s (%s)", n, nanos(c), factor(ratio))
	}
	why := fmt.Sprintf("fsync on each write had to cost at least %.0fx a buffered write, and fsync on commit at most %.2fx (the claim with %.0f %% allowed), for commits of %d to %d records. They promise different things. The claimed rates and times contradict each other: 125k a millisecond is 8 ns, not 0.8 us.",
		syncTimes*(1-slack), commitMost*(1+slack), 100*slack, h7Sizes[0], h7Sizes[len(h7Sizes)-1])
	return decide(text+".", why, "whether each write or a commit is synced, and on the records of a commit", answers...)
}
