// Package suites holds the questions that Stele's lab answers: for each the
// experiments, the ways of doing the job that are compared, and the published
// claims that are put to the test. A suite is data and functions; the lab
// runs it and knows none of them.
//
// # Mistakes to avoid
//
//   - Comparing variants of different promises. The lab refuses unless asked for, and
//     then marks the result.
//   - Quoting a claim's verdict without its place: one disk holds what another one
//     refutes.
//   - Judging before each experiment of the claim was run in every place.
package suites

import (
	"os"

	"github.com/stele-go/stele/lab"
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
	Claims []Claim
}

// List returns every suite. The caller owns what it gets. Suite log has the
// lines of CorpusEnv.
func List() []Suite { return ListOf(os.Getenv(CorpusEnv)) }

// ListOf is List with the lines of suite log from the folder corpus, "" for
// lines that are made up.
func ListOf(corpus string) []Suite {
	return []Suite{
		{
			Name:     "mkdir",
			Question: "Which way of making directory trees is fastest here?",
			Full:     mkdirFull(),
			Quick:    mkdirQuick(),
			Claims:   directoryClaims(),
		},
		{
			Name:     "newfile",
			Question: "Which way of creating many files is fastest here?",
			Full:     newfileFull(),
			Quick:    newfileQuick(),
			Claims:   creationClaims(),
		},
		{
			Name:     "replace",
			Question: "Which way of replacing files all or nothing is fastest here?",
			Full:     replaceFull(),
			Quick:    replaceQuick(),
		},
		{
			Name:     "header",
			Question: "Which way of writing before a file's first byte is fastest here?",
			Full:     headerFull(),
			Quick:    headerQuick(),
			Claims:   headerClaims(),
		},
		{
			Name:     "rw",
			Question: "Which way of reading and writing files is fastest here?",
			Full:     rwFull(1),
			Quick:    rwQuick(1),
			Claims:   inOrder(readingClaims(1), rwClaims()),
		},
		{
			Name:     "sync",
			Question: "Which way of making writes durable is fastest here, and how even is it?",
			Full:     syncFull(),
			Quick:    syncQuick(),
			Claims:   syncClaims(),
		},
		{
			Name:     "wal",
			Question: "Which write-ahead log takes records fastest here, and how long does it take to be open again?",
			Full:     walFull(1),
			Quick:    walQuick(),
			Claims:   inOrder(logClaims(1), walClaims()),
		},
		{
			Name:     "log",
			Question: "Which store keeps log lines fastest here, and finds them again?",
			Full:     logFull(1, corpus),
			Quick:    logQuick(1, corpus),
			Claims:   storeClaims(),
		},
	}
}
