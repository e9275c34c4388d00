package claims

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/logs"
)

// The load of L1, which the report does not describe: each client sends one request after
// the other, a line to keep or, now and then, a word to find among all lines.
const (
	l1Clients = 64
	l1Lines   = 20_000 // at the beginning
	l1Batch   = 100
)

// l1Every is how many requests there are for each query, and l1Queries how many queries
// each client then sends.
var (
	l1Every   = []int{25, 250}
	l1Queries = map[int]int64{25: 2, 250: 1}
)

// l1Pairs has before and after at each level.
var l1Pairs = [...]struct {
	level         durability.Level
	before, after string
}{
	{durability.Kill, logs.WayGob, logs.WayStoreKill},
	{durability.Power, logs.WayGobPower, logs.WayStorePower},
}

func l1(every int) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L1", Params: run.Params{"every": strconv.Itoa(every)},
		Question: "Does the whole engine serve more requests, and sooner, than a locked writer and a scan?",
		Op: fmt.Sprintf("a request of one of %d clients: a line to keep or, every %d, a word to find in %d lines and those added since",
			l1Clients, every, l1Lines),
		Ops: l1Clients * int64(every) * l1Queries[every], MaxRounds: 8,
	}
	for _, p := range l1Pairs {
		for _, name := range []string{p.before, p.after} {
			w := logs.WayNamed(name)
			doc := "after: " + w.Doc + "; found by filters of blocks"
			if w.Baseline {
				doc = "before: " + w.Doc + "; found by a scan of all records"
			}
			e.Variants = append(e.Variants, lab.Variant{
				Name: w.Name, Doc: doc, Promise: w.Promise, Baseline: w.Baseline,
				Run: func(b *lab.B) error { return runL1(b, w, every) },
			})
		}
	}
	return e
}

func runL1(b *lab.B, w logs.Way, every int) (err error) {
	source, err := logs.NewLines(1, "")
	if err != nil {
		return err
	}
	for word, at := range logs.RareWords(l1Lines) {
		if err := source.Plant(word, at); err != nil {
			return err
		}
	}
	k, err := w.Open(job.Site{Dir: b.Dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	labels := source.Labels()
	for range l1Lines / l1Batch {
		if err := k.Append(logs.LinesOf(source, labels, l1Batch)); err != nil {
			return err
		}
	}
	if k.Engine != nil {
		if err := k.Engine.Seal(b.Context()); err != nil {
			return err
		}
	}
	// Each client sends lines made before, the ones that follow, again and again.
	own := make([]logstore.Batch, l1Clients)
	for i := range own {
		own[i] = logs.LinesOf(source, labels, l1Batch)
	}
	return b.Parallel(l1Clients, func(w *lab.Worker) error {
		for w.Loop() {
			i := int(w.I())
			if (i+w.ID*7)%every == every/2 { // not all clients at once
				word := logs.RareWord(w.ID + i)
				if n, err := k.Find(word); err != nil || n != logs.RareEach {
					return fmt.Errorf("found %d lines with %s: %v; want %d", n, word, err, logs.RareEach)
				}
				continue
			}
			at := i % l1Batch
			if err := k.Append(own[w.ID][at : at+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

func claimL1() Claim {
	return Claim{
		ID: "L1",
		Source: reportL.source("title; ch. 5, Key figures",
			"Seven changes raise a log system from 8,000 to 42,000 requests/s and lower its p99 from 142 to 9 ms."),
		Statement:   "the whole system before and after seven changes, requests a second and p99",
		Claimed:     "8k to 42k; 142 to 9 ms",
		Promise:     "kill, prefix, and power, prefix: before and after are compared at each",
		Experiments: experiments(l1, l1Every...),
		judge:       judgeL1,
	}
}

func judgeL1(ev *evidence) judgement {
	const rate, tail = 42. / 8, 142. / 9
	var answers []answer
	text := ""
	for _, every := range l1Every {
		id := idOf(l1(every))
		for _, p := range l1Pairs {
			faster := ev.speedup(id, p.after)
			answers = append(answers, claimedFactor(faster, rate))
			perSecond := func(name string) float64 { return 1e9 / ev.time(id, name).Median }
			text += fmt.Sprintf("A query every %d, %s: %.0f to %.0f requests a second, %s; ",
				every, p.level, perSecond(p.before), perSecond(p.after), factor(faster))
			before, why := ev.tail(id, p.before)
			after, whyAfter := ev.tail(id, p.after)
			why = cmp.Or(why, whyAfter)
			shorter := quotient(before, after)
			answers = append(answers, claimedFactor(shorter, tail))
			if why != "" {
				text += "p99: " + why + ". "
				continue
			}
			text += fmt.Sprintf("p99 %s to %s, %s as short. ", lasting(before), lasting(after), factor(shorter))
		}
	}
	why := fmt.Sprintf("There had to be at least %s as many requests a second, with a p99 (the median of the blocks') %.1f times as short (the claims less %.0f %%). The report gives neither its load nor the promise of its figures, so there are two shares of queries, and both levels. Before is a gob record for each line under one lock and a scan of all of them for each query. A scan takes longer the more lines there are, here %d, and the ratios grow with it.",
		asked(rate), tail*(1-slack), 100*slack, l1Lines)
	return decide(text, why, "the share of queries, the durability of an acknowledgement, and on rate or p99", answers...)
}
