package claims

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/job"
)

const (
	variantTempHere = "os.CreateTemp"
	variantTempShm  = "os.CreateTemp in /dev/shm"
	variantDup      = "duplicates of descriptor 0 (as coded)"
	variantSlices   = "slices of a mapping (as meant)"
)

const (
	tempPage = 4 << 10 // bytes of a temporary file
	// c10Rate is how many files are asked for a second where latency is taken: the published
	// rate of A.
	c10Rate = 1240
)

// A tempPlace makes temporary files. clean removes those that were made.
type tempPlace struct {
	create func() (io.WriteCloser, error)
	clean  func() error
}

func tempContent() []byte {
	page := make([]byte, tempPage)
	for i := range page {
		page[i] = byte(i%251 + 1)
	}
	return page
}

// oneTemp creates a file, writes a page to it and closes it.
func oneTemp(p tempPlace, page []byte) error {
	f, err := p.create()
	if err != nil {
		return err
	}
	_, err = f.Write(page)
	return errors.Join(err, f.Close())
}

// tempFiles has 1,000 goroutines make temporary files without a pause.
func tempFiles(b *lab.B, p tempPlace) error {
	page := tempContent()
	b.SetBytes(tempPage)
	err := deal(b, publishedFiles, func(int64) error { return oneTemp(p, page) })
	return errors.Join(err, p.clean())
}

// tempFilesPaced has files asked for at a fixed rate, each by a goroutine of 1,000 that wait, and
// reports their mean latency from the intended start. In a closed loop the latency would
// follow from the rate (Little's law).
func tempFilesPaced(b *lab.B, p tempPlace) error {
	page := tempContent()
	asked := make(chan time.Time, b.N)
	users := make([]c6User, publishedFiles)
	errs := make([]error, publishedFiles)
	var end sync.WaitGroup
	for id := range users {
		end.Go(func() {
			for due := range asked {
				errs[id] = cmp.Or(errs[id], oneTemp(p, page))
				users[id].took = append(users[id].took, int64(time.Since(due)))
			}
		})
	}
	var begun time.Time
	for b.Loop() {
		if b.I() == 0 { // Loop collects garbage before it
			begun = time.Now()
		}
		due := begun.Add(time.Duration(b.I()) * time.Second / c10Rate)
		for time.Now().Before(due) {
			runtime.Gosched()
		}
		asked <- due
	}
	close(asked)
	end.Wait()
	waited := job.NewTimer()
	for i := range users {
		for _, ns := range users[i].took {
			waited.Hist.Record(max(1, ns))
		}
	}
	waited.Report(b, "file")
	return errors.Join(errors.Join(errs...), p.clean())
}

// tempIn makes temporary files in a directory.
func tempIn(dir string) tempPlace {
	var mu sync.Mutex
	var made []string
	return tempPlace{
		create: func() (io.WriteCloser, error) {
			f, err := os.CreateTemp(dir, "*")
			if err == nil {
				mu.Lock()
				made = append(made, f.Name())
				mu.Unlock()
			}
			return f, err
		},
		clean: func() error {
			var errs []error
			for _, name := range made {
				errs = append(errs, os.Remove(name))
			}
			return errors.Join(errs...)
		},
	}
}

// besideLeftOvers makes temporary files in a directory of many left-overs, or in an empty one.
func besideLeftOvers(each func(*lab.B, tempPlace) error) func(*lab.B) error {
	return func(b *lab.B) error {
		if b.Params["left"] == "0" {
			return each(b, tempIn(b.Dir))
		}
		root, err := files.LeftOvers(b)
		if err != nil {
			return err
		}
		return each(b, tempIn(root))
	}
}

// inShm calls f with a directory of its own below /dev/shm.
func inShm(f func(dir string) error) (err error) {
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
	return f(p.Path)
}

// A slice is a piece of memory that is written like a file.
type slice struct {
	mem []byte
	n   int
}

func (s *slice) Write(p []byte) (int, error) {
	n := copy(s.mem[s.n:], p)
	s.n += n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (s *slice) Close() error { return nil }

// c10Slices is how many pages the mapping has: as many as there are goroutines, so that one
// that is begun anew has been closed.
const c10Slices = publishedFiles

// slicesOfMapping gives out pages of a mapping of a file in /dev/shm by an atomic offset, which
// begins anew at the end.
func slicesOfMapping(b *lab.B, each func(*lab.B, tempPlace) error) error {
	return inShm(func(dir string) error {
		mem, unmap, err := mapPool(dir+"/log_pool", c10Slices*tempPage)
		if err != nil {
			return err
		}
		var next atomic.Uint64
		err = each(b, tempPlace{
			create: func() (io.WriteCloser, error) {
				at := (next.Add(1) - 1) % c10Slices * tempPage
				return &slice{mem: mem[at : at+tempPage]}, nil
			},
			clean: func() error { return nil },
		})
		return errors.Join(err, unmap())
	})
}

// A duplicate is a file of the report's pool: a duplicate of descriptor 0. Write drops the
// data, which would go to the standard input.
type duplicate struct{ close func() error }

func (duplicate) Write(p []byte) (int, error) { return len(p), nil }
func (d duplicate) Close() error              { return d.close() }

// c10 makes temporary files of 1,000 goroutines, without a pause or at a fixed rate. Its last
// variant is C15's.
func c10(left int, paced bool) lab.Experiment {
	each := tempFiles
	e := lab.Experiment{
		Suite: "claims", Name: "C10-rate", Params: run.Params{"left": strconv.Itoa(left)},
		Question: "How much does it gain to leave a crowded directory of temporary files?",
		Op:       "4 KiB of temporary data, by one of 1,000 goroutines without a pause",
		Ops:      4000, MaxRounds: 10,
	}
	if paced {
		each = tempFilesPaced
		e.Name, e.Ops = "C10-latency", c10Rate/2
		e.Op = fmt.Sprintf("4 KiB of temporary data, asked for %d times a second", c10Rate)
	}
	e.Variants = []lab.Variant{
		{
			Name: variantTempHere, Doc: fmt.Sprintf("A: in a directory with %d left-over files, written and closed", left),
			Promise: keptTorn, Baseline: true, Run: besideLeftOvers(each),
		},
		{
			Name: variantTempShm, Doc: "B: in memory through tmpfs, written and closed", Promise: keptTorn,
			Run: func(b *lab.B) error { return inShm(func(dir string) error { return each(b, tempIn(dir)) }) },
		},
		{
			Name: variantDup, Doc: "C as coded: an offset that grows for ever, and a duplicate of descriptor 0, which is closed; nothing that is written is kept", Promise: lost,
			Run: func(b *lab.B) error { return each(b, duplicatesOfStdin()) },
		},
		{
			Name: variantSlices, Doc: "C as meant: 4 KiB of a sized mapping in /dev/shm by an atomic offset, written", Promise: lost,
			Run: func(b *lab.B) error { return slicesOfMapping(b, each) },
		},
		{
			Name: variantMemFS, Doc: "C15: a map of names to buffers under a mutex, in the heap", Promise: lost,
			Run: func(b *lab.B) error {
				m := newMemFS()
				return each(b, tempPlace{create: m.CreateTemp, clean: func() error { return nil }})
			},
		},
	}
	return e
}

// c10Experiments are those of C10 and C15: with the published left-overs, and in an empty
// directory.
func c10Experiments() (rate, latency, emptyRate, emptyLatency lab.Experiment) {
	return c10(files.LeftOversMany, false), c10(files.LeftOversMany, true), c10(0, false), c10(0, true)
}

func claimC10() Claim {
	rate, latency, emptyRate, emptyLatency := c10Experiments()
	return Claim{
		ID: "C10",
		Source: reportC.source("ch. 5, Real price of metadata pressure; Zero-copy",
			"Beside 2.8 million left-overs os.CreateTemp makes 1,240 files/s in /tmp at 47.2 ms, 8,900/s in /dev/shm at 3.1 ms, and a pool of a mapping serves 21,500/s at 0.8 ms."),
		Statement:   "1,000 goroutines, os.CreateTemp in a directory with 2.8 million left-overs (A), in /dev/shm (B), a pool of a mapping (C), as coded and as meant",
		Claimed:     "1,240, 8,900, 21,500/s; mean 47.2, 3.1, 0.8 ms",
		Promise:     "A and B: kill, torn, and B is lost at a reboot; C: none",
		Experiments: []lab.Experiment{rate, latency, emptyRate, emptyLatency},
		judge: func(ev *evidence) judgement {
			return judgeC10(ev, rate.ID(), latency.ID(), emptyRate.ID(), emptyLatency.ID())
		},
	}
}

func judgeC10(ev *evidence, rate, latency, emptyRate, emptyLatency string) judgement {
	faster := func(id, v string) run.Estimate { return ev.ratio(id, variantTempHere, v) }
	sooner := func(id, v string) run.Estimate { return ev.ratioOf(id, "file_mean_ns", variantTempHere, v) }
	const noFile = notSameJob + ": no file is made"
	const dropped = "it hands out duplicates of descriptor 0, and loses all that is written"
	const atReboot = notSameJob + ": B's files are lost at a reboot"
	parts := []part{
		claimed("rate of B against A", faster(rate, variantTempShm), 8900./1240).note(atReboot),
		claimed("mean latency of A against B", sooner(latency, variantTempShm), 47.2/3.1).note(atReboot),
		claimed("rate of C against A", faster(rate, variantDup), 21500./1240).under("as coded").note(noFile).wrong(dropped),
		claimed("rate of C against A", faster(rate, variantSlices), 21500./1240).under("as meant").note(noFile),
		claimed("mean latency of A against C", sooner(latency, variantDup), 47.2/0.8).under("as coded").note(noFile).wrong(dropped),
		claimed("mean latency of A against C", sooner(latency, variantSlices), 47.2/0.8).under("as meant").note(noFile),
		figureOf("files", fmt.Sprintf("A %.0f/s, mean %s at %d/s; B %.0f/s, %s; C as meant %.0f/s, %s",
			1e9/ev.time(rate, variantTempHere).Median, lasting(ev.metric(latency, variantTempHere, "file_mean_ns")), c10Rate,
			1e9/ev.time(rate, variantTempShm).Median, lasting(ev.metric(latency, variantTempShm, "file_mean_ns")),
			1e9/ev.time(rate, variantSlices).Median, lasting(ev.metric(latency, variantSlices, "file_mean_ns")))),
		figureOf("rate of an empty directory against A", factor(quotient(ev.time(rate, variantTempHere), ev.time(emptyRate, variantTempHere)))),
		figureOf("rate of B against an empty directory", factor(faster(emptyRate, variantTempShm))),
		figureOf("mean latency of an empty directory against B", factor(sooner(emptyLatency, variantTempShm))),
	}
	return ruling(fmt.Sprintf("Rates are of 1,000 goroutines without a pause on %d processors; latencies of %d files a second, from the intended start: without a pause they would follow from the rate.", ev.place.Environment.GOMAXPROCS, c10Rate), parts...)
}
