package serve

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/logs"
)

// Full returns the experiments of the suite with lines from a source. The number of
// lines is divided by s.
func Full(s job.Scale, from logs.Source) []lab.Experiment {
	l := suite{scale: s, from: from}
	var list []lab.Experiment
	for _, batch := range []int{1, 100, 1000} {
		for _, conns := range []int{1, 4, 16, 64, 256} {
			list = append(list, l.push(batch, conns).Build())
		}
	}
	for _, queries := range []string{queriesNone, queriesAll} {
		for _, r := range rates {
			list = append(list, l.pushAt(r, queries).Build())
		}
	}
	for _, q := range questions {
		list = append(list, l.query(q).Build())
	}
	return list
}

// Quick returns the experiment that shows best what the suite is about: small pushes from many
// agents. Their price has little to do with the codec of blocks.
func Quick(s job.Scale, from logs.Source) []lab.Experiment {
	j := suite{scale: s, from: from}.push(1, 64)
	j.Ways = slices.DeleteFunc(j.Ways, func(w job.Way[processSetup]) bool { return w.Name == wayFirst })
	return []lab.Experiment{j.Build()}
}

// A suite makes the experiments.
type suite struct {
	scale job.Scale
	from  logs.Source
}

// The names of the ways to serve pushes.
const (
	wayHandler   = "net/http"
	wayServe     = "stele serve"
	wayServeKill = "stele serve kill"
	wayFirst     = "stele serve, codec lines"
	wayNothing   = "nothing kept"
)

// ways returns the ways to serve pushes, all over HTTP, each in a process of its own.
func ways() []job.Way[processSetup] {
	power, kill := job.Promise(durability.Power, durability.Prefix), job.Promise(durability.Kill, durability.Prefix)
	return []job.Way[processSetup]{
		{
			Name: wayHandler, Doc: "package server as a handler of net/http, which reads all requests", Promise: power, Baseline: true,
			Open: job.Fixed(processSetup{Handler: true}),
		},
		{Name: wayServe, Doc: "package server with its own reader of pushes, as stele serve has it", Promise: power, Open: job.Fixed(processSetup{})},
		{Name: wayServeKill, Doc: "acknowledged when written, synced when sealed", Promise: kill, Open: job.Fixed(processSetup{Kill: true})},
		{Name: wayFirst, Doc: "stele serve, whose blocks have the text of lines, compressed: the first codec", Promise: power, Open: job.Fixed(processSetup{Codec: logstore.CodecLines})},
		{
			Name: wayNothing, Doc: "a handler of net/http that reads the body and answers 204: what HTTP costs by itself",
			Promise: job.NothingWritten(), Open: job.Fixed(processSetup{Empty: true}),
		},
	}
}

// storeWays are the ways that keep what is pushed.
func storeWays() []job.Way[processSetup] { return ways()[:4] }

// experiment returns what all experiments have in common.
func (l suite) experiment(name string, p run.Params) lab.Experiment {
	e := lab.Experiment{Suite: "serve", Name: name, Params: p}
	l.from.Mark(&e)
	return e
}

func linesText(batch int) string {
	if batch == 1 {
		return "a line"
	}
	return fmt.Sprintf("%d lines", batch)
}

// push makes the experiment in which clients push as fast as they are answered.
func (l suite) push(batch, conns int) job.Job[processSetup] {
	e := l.experiment("push", run.Params{"batch": strconv.Itoa(batch), "connections": strconv.Itoa(conns)})
	e.Question = fmt.Sprintf("Which server takes pushes of %s from %s fastest, and at what price?", linesText(batch), units.Count(conns, "connection"))
	e.Op = fmt.Sprintf("a push of %s of about 140 bytes, until acknowledged", linesText(batch))
	e.MaxOps = l.pushes(batch)
	e.Stateless = true
	return job.Job[processSetup]{Experiment: e, Ways: ways(), Run: l.runPush}
}

// A fixedRate is a load of pushes that are due whether or not the last was answered: some of what a server of
// two processors carries.
type fixedRate struct{ batch, conns, perSecond int }

var rates = []fixedRate{{1, 64, 10_000}, {100, 16, 1000}, {1000, 4, 100}}

// The values of parameter queries: what is asked beside pushes.
const (
	queriesNone = "none"
	queriesAll  = "everything"
)

// pushAt makes the experiment in which pushes come at a fixed rate.
func (l suite) pushAt(r fixedRate, queries string) job.Job[processSetup] {
	e := l.experiment("push-rate", run.Params{
		"batch": strconv.Itoa(r.batch), "connections": strconv.Itoa(r.conns), "rate": strconv.Itoa(r.perSecond), "queries": queries,
	})
	beside, w := "", ways()
	if queries != queriesNone {
		beside, w = ", beside queries over everything", storeWays()
	}
	e.Question = fmt.Sprintf("Which server answers %d pushes a second of %s soonest%s?", r.perSecond, linesText(r.batch), beside)
	e.Op = fmt.Sprintf("a push of %s of about 140 bytes, from when it was due until acknowledged", linesText(r.batch))
	e.Ops = max(int64(r.perSecond)/int64(l.scale), 40)
	e.MaxRounds = 10
	return job.Job[processSetup]{Experiment: e, Ways: w, Run: l.runPushAt}
}

// pushParams are the parameters of push and push-rate.
func pushParams(b *lab.B) (batch, conns int, err error) {
	batch, err1 := job.Int(b, "batch", 1, 1000)
	conns, err2 := job.Int(b, "connections", 1, maxConns)
	return batch, conns, errors.Join(err1, err2)
}
