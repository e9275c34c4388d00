package claims

import (
	"fmt"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
	"github.com/stele-go/stele/wal"
)

// The variants of L10 that are not ways of suite wal too.
const (
	l10Coded = "three levels, acknowledged in memory"
	l10Meant = "three levels, acknowledged when durable"
)

// l10Appenders append at once.
var l10Appenders = [...]int{1, 64}

// l10 appends records of 1 KiB.
func l10(appenders int) lab.Experiment {
	e := wals.Experiment("L10", 1<<10)
	e.Suite = "claims"
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = "Do three levels of buffers join throughput with durability?"
	group := wals.GroupCommit()
	group.Doc, group.Baseline = "B: "+group.Doc, true
	j := wals.Appending(e)
	j.Ways = []wals.Way{
		group,
		threeLevelWay(l10Meant, "A as meant: Append returns when the record is synced", durability.Power),
		wals.Stele(wals.WayAppend, "group commit of package wal", wal.Options{}),
		threeLevelWay(l10Coded, "A as coded: Append returns when the record is in the ring in memory", durability.None),
	}
	return j.Build()
}

// threeLevelWay is A.
func threeLevelWay(name, doc string, level durability.Level) wals.Way {
	return wals.Way{
		Name: name, Doc: doc, Promise: job.Promise(level, durability.Prefix),
		Open: func(at job.Site) (wals.Log, error) {
			f, err := wals.NewFile(at.Dir, 0)
			if err != nil {
				return wals.Log{}, err
			}
			t := newThreeLevels(f)
			return wals.Log{
				Append: func(rec []byte) error { return t.append(rec, level == durability.Power) },
				Close:  t.close,
			}, nil
		},
	}
}

// WAL are the claims on write-ahead logs.
func WAL() []Claim { return []Claim{claimL10()} }

func claimL10() Claim {
	c := Claim{
		ID:        "L10",
		Statement: "three buffer levels: 64 KiB ring in memory, ring of 4 KiB pages, sync queue that goes when at least 3 pages are full and the first is empty or after 5 ms, 8 at most (A), against plain group commit (B)",
		Claimed:   "A joins throughput with durability",
		Promise:   "power, prefix by B and by A as meant; none by A as coded, where a record is acknowledged in memory, and compared all the same, because the claim is that it is durable",
		verdict:   judgeL10,
	}
	for _, n := range l10Appenders {
		c.Experiments = append(c.Experiments, l10(n))
	}
	return c
}

// judgeL10 asks A, where what it has acknowledged is durable, to be as fast as
// B: else it has joined nothing.
func judgeL10(f *found) finding {
	var answers []answer
	text := ""
	for _, n := range l10Appenders {
		e := l10(n)
		id := e.ID()
		meant := f.speedup(id, l10Meant)
		answers = append(answers, claimedFactor(meant, 1))
		text += fmt.Sprintf("%s: group commit %s a record, three levels %s, %s as fast; acknowledged in memory %s, %s as fast; package wal %s. ",
			job.Appenders(n), nanos(f.time(id, wals.WayGroup)), nanos(f.time(id, l10Meant)), factor(meant),
			nanos(f.time(id, l10Coded)), factor(f.times(id, wals.WayGroup, l10Coded)), nanos(f.time(id, wals.WayAppend)))
	}
	why := fmt.Sprintf("Three levels that acknowledge a record when it is durable were asked to be at least %.1fx as fast as group commit (the claim less %.0f %%). That they are fast when they acknowledge it in memory is no durability: what is in the ring is gone with the process, and what is in the pages with the power.",
		1-slack, 100*slack)
	verdict, why := decide(why, "how many append at once", answers...)
	return finding{text[:len(text)-1], verdict, why}
}
