// Package suites lists the questions that Stele's lab answers, each a package below
// this one: its experiments, the ways of doing the job that are compared, and the
// published claims that are put to the test. A suite is data and functions; the lab
// runs it and knows none of them.
//
//	mkdir    dirs      directory trees
//	newfile  files     many new files
//	replace  replace   files replaced, all or nothing
//	header   headers   bytes before a file's first byte
//	rw       rw        reading and writing
//	sync     syncs     making writes durable
//	wal      wals      write-ahead logs
//	log      logs      stores of log lines
//	serve    serve     a log server
//
// Package job has what they share, package tuning the choices of stele tune, and
// package claims the published statements.
//
// # Mistakes to avoid
//
//   - Comparing variants of different promises. The lab refuses unless asked for, and
//     then marks the result.
package suites

import (
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/claims"
	"github.com/stele-go/stele/suites/dirs"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/logs"
	"github.com/stele-go/stele/suites/replace"
	"github.com/stele-go/stele/suites/rw"
	"github.com/stele-go/stele/suites/serve"
	"github.com/stele-go/stele/suites/syncs"
	"github.com/stele-go/stele/suites/wals"
)

// A Suite is the experiments of one question.
type Suite struct {
	Name     string
	Question string
	// Full is every experiment of the suite.
	Full []lab.Experiment
	// Quick is one experiment of at most four variants, for a first answer
	// in about a minute. It has the identity of its counterpart in Full, and
	// its variants are those of Full under the same names.
	Quick []lab.Experiment
	// Claims are published statements about the same question.
	Claims []claims.Claim
}

// List returns every suite, each time a new slice. Suites log and serve have lines of the
// source that the environment names; if it names a wrong one, the experiments of these
// suites say so when they run.
func List() []Suite {
	lines, err := logs.SourceFromEnv()
	if err != nil {
		lines.Streams = -1 // Check refuses it
	}
	return ListOf(lines)
}

// ListOf is List with lines of another source.
func ListOf(lines logs.Source) []Suite {
	return []Suite{
		{
			Name:     "mkdir",
			Question: "Which way of making directory trees is fastest here?",
			Full:     dirs.Full(),
			Quick:    dirs.Quick(),
			Claims:   claims.Directories(),
		},
		{
			Name:     "newfile",
			Question: "Which way of creating many files is fastest here?",
			Full:     files.Full(),
			Quick:    files.Quick(),
			Claims:   claims.Creation(),
		},
		{
			Name:     "replace",
			Question: "Which way of replacing files all or nothing is fastest here?",
			Full:     replace.Full(),
			Quick:    replace.Quick(),
		},
		{
			Name:     "header",
			Question: "Which way of writing before a file's first byte is fastest here?",
			Full:     headers.Full(),
			Quick:    headers.Quick(),
			Claims:   claims.Headers(),
		},
		{
			Name:     "rw",
			Question: "Which way of reading and writing files is fastest here?",
			Full:     rw.Full(1),
			Quick:    rw.Quick(1),
			Claims:   claims.InOrder(claims.Reading(1), claims.RW()),
		},
		{
			Name:     "sync",
			Question: "Which way of making writes durable is fastest here, and how even is it?",
			Full:     syncs.Full(),
			Quick:    syncs.Quick(),
			Claims:   claims.InOrder(claims.Sync(), claims.PowerCuts()),
		},
		{
			Name:     "wal",
			Question: "Which write-ahead log takes records fastest here, and how long does it take to be open again?",
			Full:     wals.Full(1),
			Quick:    wals.Quick(),
			Claims:   claims.InOrder(claims.Log(1), claims.WAL()),
		},
		{
			Name:     "log",
			Question: "Which store keeps log lines fastest here, and finds them again?",
			Full:     logs.Full(1, lines),
			Quick:    logs.Quick(1, lines),
			Claims:   claims.Store(),
		},
		{
			Name:     "serve",
			Question: "What does it cost to push log lines over HTTP, and to query them?",
			Full:     serve.Full(1, lines),
			Quick:    serve.Quick(1, lines),
		},
	}
}
