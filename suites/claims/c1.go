package claims

import (
	"fmt"

	"github.com/stele-go/stele/lab"
)

// c1Processors are those of the report: runtime.GOMAXPROCS(8).
const c1Processors = 8

// c1Letters is how many names the report's code has.
const c1Letters = 26

// c1 is the published workload with the given names of files. The 1,000 goroutines find the
// first found files.
func c1(name, op string, found int, fileName func(i int) string) lab.Experiment {
	variant := func(name, doc string, goroutines, found int) lab.Variant {
		return lab.Variant{
			Name: name, Doc: doc, Promise: kept, Baseline: goroutines == 1,
			Run: inDir(func(b *lab.B) error {
				for i := range found {
					if err := createAndClose(fileName(i)); err != nil {
						return err
					}
				}
				return createNames(b, goroutines, fileName)
			}),
		}
	}
	const fresh = "os.Create and Close, in a fresh directory"
	many := fresh
	if found > 0 {
		many = fmt.Sprintf("os.Create and Close, in a directory that has the %d files of the first half", found)
	}
	return lab.Experiment{
		Suite: "claims", Name: name, Question: "Does creating 1,000 files take longer from 1,000 goroutines than from one?",
		Op: op, Ops: publishedFiles, Env: eightThreads(),
		Variants: []lab.Variant{variant(nameOne, fresh, 1, 0), variant(nameMany, many, publishedFiles, found)},
	}
}

func c1Coded() lab.Experiment {
	return c1("C1-coded", "os.Create and Close of one of 26 names, most or all of which exist already", c1Letters, letterName)
}

func c1Distinct() lab.Experiment {
	return c1("C1-distinct", "os.Create and Close of a new name", 0, distinctName)
}

func claimC1() Claim {
	coded, distinct := c1Coded(), c1Distinct()
	return Claim{
		ID: "C1",
		Source: reportC.source("ch. 1, Baseline code; Observations",
			"Creating 1,000 empty files takes 32,000 us in one goroutine and 210,000 us in 1,000."),
		Statement:   "1,000 os.Create+Close: one goroutine, then 1,000 goroutines, GOMAXPROCS 8. As coded the names are test_ and one of 26 letters, so most calls truncate; as titled, 1,000 distinct names",
		Claimed:     "32 ms and 210 ms: 6.5x slower",
		Promise:     "kill, old or new, all variants: survives kill -9, not a power cut",
		Experiments: []lab.Experiment{coded, distinct},
		judge:       func(ev *evidence) judgement { return judgeC1(ev, coded.ID(), distinct.ID()) },
	}
}

func judgeC1(ev *evidence, coded, distinct string) judgement {
	const slower = 210.0 / 32
	lack := ev.processors(c1Processors)
	var parts []part
	for _, c := range []struct{ how, id string }{{"as titled", distinct}, {"as coded", coded}} {
		p := claimed("time of 1,000 goroutines against one", ev.ratio(c.id, nameMany, nameOne), slower).under(c.how)
		if c.id == coded {
			p = p.wrong("one goroutine makes 26 files and truncates them, and 1,000 make none")
		}
		parts = append(parts, p.needs(lack), figureOf("1,000 files ("+c.how+")", fmt.Sprintf("%s from one goroutine, %s from 1,000",
			total(ev.time(c.id, nameOne)), total(ev.time(c.id, nameMany)))))
	}
	return ruling("Starting the goroutines is part of the time. Each block has a directory of its own, and the order of the blocks is shuffled. "+onFS(ev), parts...)
}

// onFS names the file system and journal of a place, on which a claim depends.
func onFS(ev *evidence) string {
	e := &ev.place.Environment
	if e.FS == "ext4" && e.Journal != "" {
		return "On ext4, journal: " + e.Journal + "."
	}
	return "On " + e.FS + "."
}
