package claims

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantTempHere = "os.CreateTemp"
	variantTempShm  = "os.CreateTemp in /dev/shm"
	variantSlices   = "slices of memory"
)

// tempPage is the size of a temporary file.
const tempPage = 4 << 10

// tempFiles has 1,000 goroutines create a place for temporary data, write a page to it and
// close it.
func tempFiles(b *lab.B, create func() (io.WriteCloser, error)) error {
	page := make([]byte, tempPage)
	for i := range page {
		page[i] = byte(i%251 + 1)
	}
	b.SetBytes(tempPage)
	return deal(b, publishedFiles, func(int64) error {
		f, err := create()
		if err != nil {
			return err
		}
		_, err = f.Write(page)
		return errors.Join(err, f.Close())
	})
}

// tempIn creates temporary files in a directory.
func tempIn(dir string) func() (io.WriteCloser, error) {
	return func() (io.WriteCloser, error) { return os.CreateTemp(dir, "*") }
}

// tempBesideLeftOvers creates temporary files in a directory full of left-overs.
func tempBesideLeftOvers(b *lab.B) (err error) {
	root, restore, err := files.LeftOvers(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return tempFiles(b, tempIn(root))
}

// tempInShm creates temporary files in a directory of its own below /dev/shm.
func tempInShm(b *lab.B) (err error) {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); errors.Is(err, fs.ErrNotExist) {
		return job.Unsupported("%s", err.Error())
	}
	// The files of killed blocks take memory. One that cannot be removed does not fail
	// this block.
	_, _ = scratch.Sweep(shm)
	p, err := scratch.Dir(shm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return tempFiles(b, tempIn(p.Path))
}

// A slice is a piece of memory that Close gives back to the pool it came from.
type slice struct {
	from chan<- *slice
	mem  []byte
	n    int
}

func (s *slice) Write(p []byte) (int, error) {
	n := copy(s.mem[s.n:], p)
	s.n += n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (s *slice) Close() error {
	s.n = 0
	s.from <- s
	return nil
}

// tempInMemory gives each goroutine a page of one piece of memory, which was allocated and
// touched before.
func tempInMemory(b *lab.B) error {
	all := make([]byte, publishedFiles*tempPage)
	for i := 0; i < len(all); i += tempPage {
		all[i] = 1
	}
	free := make(chan *slice, publishedFiles)
	for i := range publishedFiles {
		free <- &slice{from: free, mem: all[i*tempPage : (i+1)*tempPage]}
	}
	err := tempFiles(b, func() (io.WriteCloser, error) { return <-free, nil })
	runtime.KeepAlive(all)
	return err
}

func c10() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C10", Params: run.Params{"left": strconv.Itoa(files.LeftOversMany)},
		Question: "How much does it gain to leave a crowded directory of temporary files?",
		Op:       "4 KiB of temporary data, by 1,000 goroutines",
		MaxOps:   files.PerBlock / 4, // all are looked up and removed after the block
		// That takes seconds, since it lists all left-overs too.
		MaxRounds: 8,
		Variants: []lab.Variant{
			{
				Name: variantTempHere, Doc: "A: in a directory with 2.8 million left-over files, written and closed",
				Promise: keptTorn, Baseline: true, Run: tempBesideLeftOvers,
			},
			{
				Name: variantTempShm, Doc: "B: in memory through tmpfs, written and closed",
				Promise: keptTorn, Run: tempInShm,
			},
			{
				Name: variantSlices, Doc: "C: a page of memory allocated before, written and given back",
				Promise: lost, Run: tempInMemory,
			},
		},
	}
}

func claimC10() Claim {
	e := c10()
	return Claim{
		ID: "C10",
		Source: reportC.source("ch. 5, Real price of metadata pressure; Zero-copy",
			"Beside 2.8 million left-overs os.CreateTemp makes 1,240 files/s in /tmp at 47.2 ms, 8,900/s in /dev/shm at 3.1 ms, and a pool of a mapping serves 21,500/s at 0.8 ms."),
		Statement:   "1,000 goroutines, os.CreateTemp in a directory with 2.8 million left-overs (A), in /dev/shm (B), slices of a pre-allocated mapping (C)",
		Claimed:     "1,240, 8,900, 21,500/s; 47.2, 3.1, 0.8 ms",
		Promise:     "A and B: kill, torn, and B is lost at a reboot; C: none",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC10(ev, e.ID()) },
	}
}

func judgeC10(ev *evidence, id string) judgement {
	const claimedB, claimedC = 8900.0 / 1240, 21500.0 / 1240
	const tailB, tailC = 47.2 / 3.1, 47.2 / 0.8
	b := ev.speedup(id, variantTempShm)
	c := ev.times(id, variantTempHere, variantSlices)
	rate := func(v string) float64 { return 1e9 / ev.time(id, v).Median }
	text := fmt.Sprintf("A %.0f/s; B %.0f/s, %s as fast; C %.0f/s, %s as fast.", rate(variantTempHere),
		rate(variantTempShm), factor(b), rate(variantSlices), factor(c))
	answers := []answer{claimedFactor(b, claimedB), claimedFactor(c, claimedC)}
	tail := func(v string) run.Estimate {
		e, why := ev.tail(id, v)
		if why != "" {
			text += " p99 of " + v + ": " + why + "."
		}
		return e
	}
	ta, tb, tc := tail(variantTempHere), tail(variantTempShm), tail(variantSlices)
	shorterB, shorterC := quotient(ta, tb), quotient(ta, tc)
	if !math.IsNaN(shorterB.Median + shorterC.Median) {
		text += fmt.Sprintf(" p99: A %s; B %s, %s as short; C %s, %s as short.", nanos(ta), nanos(tb), factor(shorterB), nanos(tc), factor(shorterC))
	}
	answers = append(answers, claimedFactor(shorterB, tailB), claimedFactor(shorterC, tailC))
	return decide(text,
		fmt.Sprintf("B had to be at least %s as fast as A, C %s, with a p99 %.1f and %.0f times as short (the claims less %.0f %%; their milliseconds are read as a p99, here the median of the blocks'). The three promise different things: only A's files are on the disk some seconds later.",
			asked(claimedB), asked(claimedC), tailB*(1-slack), tailC*(1-slack), 100*slack),
		"where the data goes, and on rate or p99", answers...)
}
