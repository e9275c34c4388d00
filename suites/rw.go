package suites

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab"
)

// The files of suite rw. They are smaller where the disk is small: see openBig.
const (
	rwQuickFile = 256 * mebibyte
	rwFullFile  = 1024 * mebibyte
	// rwStream is how much a sequential block reads or writes.
	rwStream = 128 * mebibyte
	// rwRewritten is the file that random writes go to. Each block has its own,
	// written before, so that no write has to allocate.
	rwRewritten = 64 * mebibyte
)

// streamRounds bounds the rounds of experiment sequential-write, each of which
// writes some 2 GiB.
const streamRounds = 10

// rwRandomOps bounds the random reads and writes of a block.
const rwRandomOps = 20_000

// rwFull is the suite rw. Files of the published sizes are divided by s.
func rwFull(s scale) []lab.Experiment {
	var list []lab.Experiment
	states := []string{cacheWarm, cacheCold, cacheDirect}
	for _, state := range states {
		list = append(list, rwRandomRead(s, rwFullFile, state))
	}
	list = append(list, rwRandomRead(s, rwQuickFile, cacheWarm))
	for _, block := range []int{64 << 10, 1 << 20} {
		for _, state := range states {
			list = append(list, rwSequentialRead(s, block, state))
		}
	}
	for _, state := range []string{cacheWarm, cacheDirect} {
		list = append(list, rwRandomWrite(s, state))
	}
	for _, block := range []int{64 << 10, 1 << 20} {
		list = append(list, rwSequentialWrite(s, block))
	}
	list = append(list, rwReadSurface(s), rwWriteSurface(s))
	for _, goroutines := range []int{100, 1000} {
		list = append(list, rwMixed(s, goroutines))
	}
	return list
}

// rwQuick is what best shows what the suite is about.
func rwQuick(s scale) []lab.Experiment {
	e := rwRandomRead(s, rwQuickFile, cacheWarm)
	keep := []string{"os.File", "fileio mapped", "fileio mapped, View", ringReads().name}
	e.Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool { return !slices.Contains(keep, v.Name) })
	return []lab.Experiment{e}
}

// stateText says where the pages of a file are.
func stateText(state string) string {
	return map[string]string{
		cacheWarm:   "which is in the page cache",
		cacheCold:   "which is not in the page cache at the start",
		cacheDirect: "past the page cache",
	}[state]
}

// pastName and rwParams make what goes past the page cache a job of its own, for
// its ways are others; warm and cold are points of one job.
func pastName(state string) string {
	if state == cacheDirect {
		return "-direct"
	}
	return ""
}

func rwParams(state, key, value string) lab.Params {
	p := lab.Params{key: value}
	if state != cacheDirect {
		p["cache"] = state
	}
	return p
}

// sizeKey is sizeName as the value of a parameter: "64KiB".
func sizeKey(size int) string { return strings.ReplaceAll(sizeName(size), " ", "") }

func rwRandomRead(s scale, size int, state string) lab.Experiment {
	j := readJob{size: s.of(int64(size)), block: pageBytes, state: state, random: true}
	e := lab.Experiment{
		Suite: "rw", Name: "random-read" + pastName(state),
		Params:   rwParams(state, "size", sizeKey(size)),
		Question: fmt.Sprintf("Which way of reading 4 KiB anywhere in a file, %s, is fastest?", stateText(state)),
		Op:       fmt.Sprintf("4 KiB read at a random page of a file of %s, and looked at", sizeName(size)),
		MaxOps:   rwRandomOps, Stateless: state != cacheCold,
	}
	if state == cacheWarm {
		e.MaxOps = 0 // as many as there is time for: they leave nothing behind
	}
	return j.experiment(e)
}

// rwSequentialRead reads a stream of rwStream in blocks.
func rwSequentialRead(s scale, block int, state string) lab.Experiment {
	j := readJob{size: s.of(rwQuickFile), block: block, state: state}
	return j.experiment(lab.Experiment{
		Suite: "rw", Name: "sequential-read" + pastName(state),
		Params:   rwParams(state, "block", sizeKey(block)),
		Question: fmt.Sprintf("Which way of reading a file from start to end in blocks of %s, %s, is fastest?", sizeName(block), stateText(state)),
		Op:       fmt.Sprintf("the next %s of a stream of %s, read and looked at", sizeName(block), sizeName(rwStream)),
		Ops:      max(1, s.of(rwStream)/int64(block)),
	})
}

func (j readJob) experiment(e lab.Experiment) lab.Experiment {
	for _, w := range readWays(j.state) {
		if w.sequential && j.random {
			continue
		}
		e.Variants = append(e.Variants, j.variant(w))
	}
	e.Variants[0].Baseline = true
	return e
}

// rwRandomWrite overwrites pages of a file that is written already.
func rwRandomWrite(s scale, state string) lab.Experiment {
	e := lab.Experiment{
		Suite: "rw", Name: "random-write" + pastName(state),
		Params:   rwParams(state, "size", sizeKey(rwRewritten)),
		Question: fmt.Sprintf("Which way of overwriting 4 KiB anywhere in a file, %s, is fastest?", stateText(state)),
		Op:       fmt.Sprintf("4 KiB written over a random page of a file of %s", sizeName(rwRewritten)),
		MaxOps:   rwRandomOps,
	}
	for _, w := range pageWriteWays(state) {
		e.Variants = append(e.Variants, w.variant(s.of(rwRewritten), state))
	}
	return e
}

// rwSequentialWrite writes whole streams, for only of a whole stream can be
// said what survives: until it is flushed a part of it is in the program.
func rwSequentialWrite(s scale, block int) lab.Experiment {
	e := lab.Experiment{
		Suite: "rw", Name: "sequential-write",
		Params:   lab.Params{"block": sizeKey(block), "stream": sizeKey(rwStream)},
		Question: fmt.Sprintf("Which way of writing a file of %s in blocks of %s is fastest?", sizeName(rwStream), sizeName(block)),
		Op:       fmt.Sprintf("%s written into a new file in blocks of %s", sizeName(rwStream), sizeName(block)),
		Ops:      1, MaxRounds: streamRounds,
	}
	for _, w := range streamWriteWays() {
		e.Variants = append(e.Variants, w.variant(s.of(rwStream), block))
	}
	return e
}

// rwClaims are the claims on how many reads and writes at once there should be.
func rwClaims() []Claim { return []Claim{claimR9(), claimR10()} }
