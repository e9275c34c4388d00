package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
)

// A question is a query that is asked over HTTP and of the engine itself.
type question struct {
	name, text string // of the experiment, and in words
	query      func(i int64) string
	step       time.Duration // of a range query of a metric; 0 is one of lines, or with instant none
	instant    bool
}

func constant(query string) func(int64) string { return func(int64) string { return query } }

const everything = "{app=~`.+`}"

var questions = []question{
	{name: "rare", text: "the lines with a rare word", query: func(i int64) string { return everything + " |= `" + rareWord(int(i%rareOf)) + "`" }},
	{name: "part", text: "a count of the lines with a part of a word", query: constant("sum(count_over_time(" + everything + " |= `rro` " + over + "))"), instant: true},
	{name: "last", text: "the last 100 lines", query: constant(everything)},
	{name: "per-minute", text: "a count by app for each minute", query: constant("sum by (app) (count_over_time(" + everything + "[1m]))"), step: time.Minute},
	{name: "regexp", text: "a count of the lines that match an expression", query: constant(everyLine), instant: true},
}

// The ways of asking.
const (
	wayHTTP        = "over HTTP"
	wayEngine      = "in process"
	wayEngineFirst = "in process, codec lines"
)

// An ask asks the question of operation i.
type ask func(ctx context.Context, i int64) error

// An asker is a way to ask questions.
type asker struct {
	// open opens the way to ask a question of a store in a directory.
	open  func(ctx context.Context, dir string, q question) (ask, func() error, error)
	codec logstore.Codec // of the store
}

// query makes the experiment that asks a question of all lines of a sealed store.
func (l suite) query(q question) job.Job[asker] {
	e := l.experiment("query", run.Params{"question": q.name})
	e.Question = "What does asking over HTTP add to a query for " + q.text + "?"
	e.Op = fmt.Sprintf("%s of %d, until all of the answer is read", q.text, l.pushes(1000)*1000)
	e.Stateless = true
	return job.Job[asker]{
		Experiment: e,
		Ways: []job.Way[asker]{
			{Name: wayEngine, Doc: "package logql over the store, in the process of the client", Promise: job.NothingWritten(), Baseline: true, Open: job.Fixed(asker{open: askEngine})},
			{Name: wayHTTP, Doc: "a server in a process of its own, which answers in JSON", Promise: job.NothingWritten(), Open: job.Fixed(asker{open: askHTTP})},
			{Name: wayEngineFirst, Doc: "package logql over a store whose blocks have the text of lines, compressed: the first codec", Promise: job.NothingWritten(), Open: job.Fixed(asker{askEngine, logstore.CodecLines})},
		},
		Run: func(b *lab.B, _ job.Site, from asker) error { return l.runQuery(b, q, from) },
	}
}

func (l suite) runQuery(b *lab.B, q question, from asker) (err error) {
	dir, err := b.Shared(fmt.Sprintf("serve-store-%d-%v", l.pushes(1000), from.codec), func(dir string) error {
		return l.makeStore(b, filepath.Join(dir, "store"), from.codec)
	})
	if err != nil {
		return err
	}
	ask, end, err := from.open(b.Context(), filepath.Join(dir, "store"), q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for b.Loop() {
		if err := ask(b.Context(), b.I()); err != nil {
			return err
		}
	}
	return nil
}

// makeStore makes a sealed store.
func (l suite) makeStore(b *lab.B, dir string, codec logstore.Codec) (err error) {
	r, err := l.requests(b, 1000)
	if err != nil {
		return err
	}
	defer r.Close() // nothing is written
	p, err := start(b.Context(), processSetup{Dir: dir, Codec: codec})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if _, err := (Load{Addr: p.Addr, Conns: 4, Count: int(l.pushes(1000))}).Run(b.Context(), r); err != nil {
		return err
	}
	_, err = p.Seal(true)
	return err
}

func askHTTP(ctx context.Context, dir string, q question) (ask, func() error, error) {
	p, err := start(ctx, processSetup{Dir: dir, ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	a := Asker{Addr: p.Addr}
	endpoint, params := "query_range", append(slices.Clone(times), "limit", "100")
	switch {
	case q.instant:
		endpoint, params = "query", at
	case q.step > 0:
		params = append(params, "step", q.step.String())
	}
	params = append(slices.Clone(params), "query", "")
	return func(ctx context.Context, i int64) error {
		params[len(params)-1] = q.query(i)
		answer, err := a.Ask(ctx, endpoint, params...)
		if err == nil && len(answer.Data.Result) == 0 {
			err = fmt.Errorf("serve: the answer to %s is empty", q.query(i))
		}
		return err
	}, p.Stop, nil
}

func askEngine(_ context.Context, dir string, q question) (ask, func() error, error) {
	store, err := logstore.OpenReadOnly(dir, logstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	<-store.Ready()
	engine := logql.NewEngine(store, logql.Options{})
	r := logql.Request{Start: linesStart - 1e9, End: lastMoment, Step: q.step, Instant: q.instant}
	return func(ctx context.Context, i int64) error {
		r.Query = q.query(i)
		found, err := engine.Run(ctx, r)
		if err == nil && len(found.Lines)+len(found.Series) == 0 {
			err = fmt.Errorf("serve: the answer to %s is empty", r.Query)
		}
		return err
	}, store.Close, nil
}
