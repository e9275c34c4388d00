package rw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// surfaceRounds bounds the rounds of experiments with dozens of variants.
const surfaceRounds = 10

// A Surface is a set of random 4 KiB reads or writes past the page cache, by different
// numbers of threads and of requests in flight.
type Surface struct {
	Size    int64
	write   bool
	Promise run.Promise
}

// readSurface asks how many reads at once make the device fastest.
func readSurface(s job.Scale) lab.Experiment {
	j := Surface{Size: s.Of(QuickFile), Promise: job.NothingWritten()}
	e := j.Experiment("read", QuickFile, "4 KiB read past the page cache at a random page")
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
		e.Variants = append(e.Variants, j.Blocking("goroutines", n))
	}
	for _, threads := range []int{1, 2, 4, 8} {
		for _, depth := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
			e.Variants = append(e.Variants, j.Rings("io_uring", threads, depth))
		}
	}
	return e
}

// writeSurface asks the same of writes that are not synced, with fewer
// points: each block first writes its file.
func writeSurface(s job.Scale) lab.Experiment {
	j := Surface{Size: s.Of(rewrittenBytes), write: true, Promise: killTorn}
	e := j.Experiment("write", rewrittenBytes, "4 KiB written past the page cache over a random page")
	for _, n := range []int{1, 4, 16, 64} {
		e.Variants = append(e.Variants, j.Blocking("goroutines", n))
	}
	for _, threads := range []int{1, 4} {
		for _, depth := range []int{1, 4, 16, 64} {
			e.Variants = append(e.Variants, j.Rings("io_uring", threads, depth))
		}
	}
	return e
}

// Experiment returns an experiment without variants. op is "read" or "write", and
// what describes one operation.
func (j Surface) Experiment(op string, size int, what string) lab.Experiment {
	return lab.Experiment{
		Suite: "rw", Name: "surface-" + op, Params: run.Params{"size": sizeKey(size)},
		Question: fmt.Sprintf("How many %ss at once bring all that there is?", op),
		Op:       fmt.Sprintf("%s of a file of %s", what, units.Size(int64(size))),
		MaxOps:   100_000, MaxRounds: surfaceRounds, Stateless: !j.write,
	}
}

// Blocking returns the variant with n goroutines, each of which makes a request and
// waits for it.
func (j Surface) Blocking(surface string, n int) lab.Variant {
	verb := "pread"
	if j.write {
		verb = "pwrite"
	}
	return lab.Variant{
		Name: fmt.Sprintf("%s, %s", verb, units.Count(n, "goroutine")), Promise: j.Promise,
		Doc:  fmt.Sprintf("%s(2) from %s", verb, units.Count(n, "goroutine")),
		Cell: &run.Cell{Surface: surface, XName: "goroutines", X: n, Y: 1, Latency: RequestP50},
		Run: j.run(func(b *lab.B, f *os.File, where func(id int) (order, error)) error {
			return runBlocking(b, f, n, j.write, where)
		}),
	}
}

// Rings returns the variant with threads threads, each of which keeps depth requests
// in flight in an io_uring of its own.
func (j Surface) Rings(surface string, threads, depth int) lab.Variant {
	v := j.queues(interrupted, threads, depth)
	v.Name = fmt.Sprintf("%s, %d x %d", surface, threads, depth)
	v.Doc = fmt.Sprintf("%d goroutines, each with an io_uring and %d requests in flight", threads, depth)
	v.Cell = &run.Cell{Surface: surface, XName: "in flight in each ring", YName: "rings", X: depth, Y: threads, Latency: RequestP50}
	return v
}

// PolledRings is Rings with completions that are polled for (IORING_SETUP_IOPOLL).
func (j Surface) PolledRings(surface string, threads, depth int) lab.Variant {
	v := j.Rings(surface, threads, depth)
	v.Doc += ", whose completions are polled for"
	v.Run = j.queues(polled, threads, depth).Run
	return v
}

// Libaio is Rings with native asynchronous I/O (io_submit(2)), which libaio wraps, for reads.
func (j Surface) Libaio(surface string, threads, depth int) lab.Variant {
	v := j.Rings(surface, threads, depth)
	v.Doc = fmt.Sprintf("%d goroutines, each with a context of io_submit(2) and %d reads in flight", threads, depth)
	v.Run = j.queues(libaio, threads, depth).Run
	return v
}

func (j Surface) queues(open openQueue, threads, depth int) lab.Variant {
	request := uring.Request{Op: uring.Read}
	if j.write {
		request.Op = uring.Write
	}
	return lab.Variant{Promise: j.Promise, Run: j.run(func(b *lab.B, f *os.File, where func(id int) (order, error)) error {
		return runRings(b, f, open, threads, depth, datafile.PageSize, where, request, !j.write)
	})}
}

// run opens the file past the page cache: for reading the one that blocks share, for
// writing one of the block's own.
func (j Surface) run(work func(*lab.B, *os.File, func(id int) (order, error)) error) func(b *lab.B) error {
	return func(b *lab.B) (err error) {
		var f *datafile.File
		flag := os.O_RDONLY
		if j.write {
			flag = os.O_WRONLY
			f, err = newRewritten(b, j.Size, datafile.Direct)
		} else {
			f, err = openState(b, j.Size, datafile.Direct)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		direct, err := openPastCache(f.Name(), flag)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, direct.Close()) }()
		seed := b.Rand.Uint64()
		err = work(b, direct, func(id int) (order, error) {
			return randomOrder(rand.New(rand.NewPCG(seed, uint64(id))), f.Size, datafile.PageSize, b.N, false)
		})
		if err == nil {
			err = stillIs(b, f, datafile.Direct)
		}
		return err
	}
}

// runBlocking does the block's operations in n goroutines.
func runBlocking(b *lab.B, f *os.File, n int, write bool, where func(id int) (order, error)) error {
	orders, hists := make([]order, n), make([]*run.Histogram, n)
	for i := range orders {
		var err error
		if orders[i], err = where(i); err != nil {
			return err
		}
		hists[i] = run.NewHistogram()
	}
	b.SetBytes(datafile.PageSize)
	err := b.Parallel(n, func(w *lab.Worker) error {
		page := datafile.Touched(sys.AlignedBuffer(datafile.PageSize, datafile.PageSize))
		watch := job.Timer{Hist: hists[w.ID]}
		var l looker
		for w.Loop() {
			begin := time.Now()
			l.off = orders[w.ID](w.I())
			var err error
			if write {
				page[0]++
				_, err = f.WriteAt(page, l.off)
			} else if _, err = f.ReadAt(page, l.off); err == nil {
				err = l.look(page)
			}
			if err != nil {
				return err
			}
			watch.Since(begin)
		}
		return nil
	})
	reportRequests(b, hists...)
	return err
}
