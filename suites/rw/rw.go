// Package rw asks which way of reading and writing files is fastest: suite rw.
package rw

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// Sizes of the suite's files, in bytes. They are smaller where the disk is small: see
// datafile.Open.
const (
	QuickFile = 256 * datafile.MiB // the file that random reads of the quick set read
	fullFile  = 1024 * datafile.MiB
	// streamBytes is how much a sequential block reads or writes.
	streamBytes = 128 * datafile.MiB
	// rewrittenBytes is the file that random writes go to. Each block has its own,
	// written before, so that no write has to allocate.
	rewrittenBytes = 64 * datafile.MiB
)

// streamRounds bounds the rounds of experiment sequential-write, each of which
// writes some 2 GiB.
const streamRounds = 10

// randomOps bounds the random reads and writes of a block.
const randomOps = 20_000

// Full returns the experiments of the suite. The sizes of files are divided by s.
func Full(s job.Scale) []lab.Experiment {
	return slices.Concat(randomReads(s), sequentialReads(s), randomWrites(s), sequentialWrites(s), surfaces(s), mixedLoads(s))
}

// states are those of the page cache in which files are read.
var states = []string{datafile.Warm, datafile.Cold, datafile.Direct}

// blocks are the bytes of a sequential read or write.
var blocks = []int{64 << 10, 1 << 20}

func randomReads(s job.Scale) []lab.Experiment {
	var list []lab.Experiment
	for _, state := range states {
		list = append(list, randomRead(s, fullFile, state))
	}
	return append(list, randomRead(s, QuickFile, datafile.Warm))
}

func sequentialReads(s job.Scale) []lab.Experiment {
	var list []lab.Experiment
	for _, block := range blocks {
		for _, state := range states {
			list = append(list, sequentialRead(s, block, state))
		}
	}
	return list
}

func randomWrites(s job.Scale) []lab.Experiment {
	return []lab.Experiment{randomWrite(s, datafile.Warm), randomWrite(s, datafile.Direct)}
}

func sequentialWrites(s job.Scale) []lab.Experiment {
	var list []lab.Experiment
	for _, block := range blocks {
		list = append(list, sequentialWrite(s, block))
	}
	return list
}

func surfaces(s job.Scale) []lab.Experiment {
	return []lab.Experiment{readSurface(s), writeSurface(s)}
}

func mixedLoads(s job.Scale) []lab.Experiment {
	return []lab.Experiment{mixed(s, 100), mixed(s, 1000)}
}

// Quick returns the experiment that shows best what the suite is about.
func Quick(s job.Scale) []lab.Experiment {
	e := randomRead(s, QuickFile, datafile.Warm)
	return []lab.Experiment{job.Only(e, "os.File", "fileio mapped", "fileio mapped, View", ringReads().Name)}
}

// pastName and params make I/O past the page cache a job of its own, because it has
// other ways; warm and cold are points of one job.
func pastName(state string) string {
	if state == datafile.Direct {
		return "-direct"
	}
	return ""
}

func params(state, key, value string) run.Params {
	p := run.Params{key: value}
	if state != datafile.Direct {
		p["cache"] = state
	}
	return p
}

// sizeKey returns a size as the value of a parameter: "64KiB". It never uses GiB:
// "1024MiB" is in the identity of stored runs.
func sizeKey(size int) string {
	if size >= datafile.MiB {
		return strconv.Itoa(size>>20) + "MiB"
	}
	return strconv.Itoa(size>>10) + "KiB"
}

func randomRead(s job.Scale, size int, state string) lab.Experiment {
	j := Reads{Size: s.Of(int64(size)), Block: datafile.PageSize, State: state, Random: true}
	e := lab.Experiment{
		Suite: "rw", Name: "random-read" + pastName(state),
		Params:   params(state, "size", sizeKey(size)),
		Question: fmt.Sprintf("Which way of reading 4 KiB anywhere in a file, %s, is fastest?", datafile.StateText(state)),
		Op:       fmt.Sprintf("4 KiB read at a random page of a file of %s, and looked at", units.Size(int64(size))),
		MaxOps:   randomOps, Stateless: state != datafile.Cold,
	}
	if state == datafile.Warm {
		e.MaxOps = 0 // as many as there is time for: reads leave nothing behind
	}
	return j.experiment(e)
}

// sequentialRead reads a stream of streamBytes in blocks.
func sequentialRead(s job.Scale, block int, state string) lab.Experiment {
	j := Reads{Size: s.Of(QuickFile), Block: block, State: state}
	return j.experiment(lab.Experiment{
		Suite: "rw", Name: "sequential-read" + pastName(state),
		Params:   params(state, "block", sizeKey(block)),
		Question: fmt.Sprintf("Which way of reading a file from start to end in blocks of %s, %s, is fastest?", units.Size(int64(block)), datafile.StateText(state)),
		Op:       fmt.Sprintf("the next %s of a stream of %s, read and looked at", units.Size(int64(block)), units.Size(streamBytes)),
		Ops:      max(1, s.Of(streamBytes)/int64(block)),
	})
}

func (j Reads) experiment(e lab.Experiment) lab.Experiment {
	all := j.Job(e)
	all.Ways = readWays(j.State, j.Random)
	all.Ways[0].Baseline = true
	return all.Build()
}

// randomWrite overwrites pages of a file that is written already.
func randomWrite(s job.Scale, state string) lab.Experiment {
	e := lab.Experiment{
		Suite: "rw", Name: "random-write" + pastName(state),
		Params:   params(state, "size", sizeKey(rewrittenBytes)),
		Question: fmt.Sprintf("Which way of overwriting 4 KiB anywhere in a file, %s, is fastest?", datafile.StateText(state)),
		Op:       fmt.Sprintf("4 KiB written over a random page of a file of %s", units.Size(rewrittenBytes)),
		MaxOps:   randomOps,
	}
	size := s.Of(rewrittenBytes)
	j := job.Job[pageWriter]{
		Experiment: e, Ways: pageWriteWays(state),
		Run: func(b *lab.B, _ job.Site, w pageWriter) error { return w.run(b, size, state) },
	}
	return j.Build()
}

// sequentialWrite writes whole streams, because only a whole stream has a promise:
// until it is flushed, a part of it is in the program's memory.
func sequentialWrite(s job.Scale, block int) lab.Experiment {
	e := lab.Experiment{
		Suite: "rw", Name: "sequential-write",
		Params:   run.Params{"block": sizeKey(block), "stream": sizeKey(streamBytes)},
		Question: fmt.Sprintf("Which way of writing a file of %s in blocks of %s is fastest?", units.Size(streamBytes), units.Size(int64(block))),
		Op:       fmt.Sprintf("%s written into a new file in blocks of %s", units.Size(streamBytes), units.Size(int64(block))),
		Ops:      1, MaxRounds: streamRounds,
	}
	size := s.Of(streamBytes)
	j := job.Job[streamWriter]{
		Experiment: e, Ways: streamWriteWays(),
		Run: func(b *lab.B, at job.Site, w streamWriter) error { return runStream(b, at, w, size, block) },
	}
	return j.Build()
}
