package claims

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/newfile"
)

const (
	variantSyncPool  = "sync.Pool"
	variantTruncated = "sync.Pool, truncated"
	variantPool      = "newfile.Pool"
)

// reuse takes open files out of a sync.Pool that was filled before and puts them back. A
// collection drops what a pool holds: then a new file is made. empty: a file is truncated for
// its next user.
func reuse(b *lab.B, empty bool) (err error) {
	var made atomic.Int64
	var mu sync.Mutex
	var open []*os.File // all of them: a sync.Pool may drop its items
	defer func() {
		for _, f := range open {
			err = errors.Join(err, f.Close())
		}
	}()
	create := func() (*os.File, error) {
		f, err := os.CreateTemp(b.Dir, "*")
		if err == nil {
			made.Add(1)
			mu.Lock()
			open = append(open, f)
			mu.Unlock()
		}
		return f, err
	}
	var pool sync.Pool
	for range publishedFiles {
		f, err := create()
		if err != nil {
			return err
		}
		pool.Put(f)
	}
	made.Store(0)
	err = deal(b, publishedFiles, func(int64) error {
		f, ok := pool.Get().(*os.File)
		if !ok {
			var err error
			if f, err = create(); err != nil {
				return err
			}
		}
		if empty {
			if err := f.Truncate(0); err != nil {
				return err
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		pool.Put(f)
		return nil
	})
	b.Report("files_made", float64(made.Load()))
	return err
}

// borrow does the same with Stele's own pool, whose files have no name.
func borrow(b *lab.B) error {
	return inOpenDir(b, func(d *newfile.Dir) error {
		p, err := newfile.NewPool(d, publishedFiles)
		if err != nil {
			return err
		}
		return errors.Join(deal(b, publishedFiles, func(int64) error {
			f, err := p.Get(context.Background())
			if err != nil {
				return err
			}
			return f.Close()
		}), p.Close())
	})
}

func claimC4() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "C4", Question: "How much faster is it to use open files again?",
		Op: "one empty open file taken and given back, by 1,000 goroutines", Ops: publishedFiles, Env: eightThreads(),
		Variants: []lab.Variant{
			{Name: variantNamed, Doc: "os.Create of a new name, and Close", Promise: kept, Baseline: true, Run: inDir(createMany)},
			{
				Name: variantSyncPool, Doc: "B: taken out of a sync.Pool of 1,000 files that were opened before, and put back", Promise: lost, Baseline: true,
				Run: func(b *lab.B) error { return reuse(b, false) },
			},
			{
				Name: variantTruncated, Doc: "the same, and truncated for its user", Promise: lost,
				Run: func(b *lab.B) error { return reuse(b, true) },
			},
			{Name: variantPool, Doc: "Stele's pool, empty at first, of files without a name", Promise: lost, Run: borrow},
		},
	}
	return Claim{
		ID: "C4",
		Source: reportC.source("ch. 1, Optimisations",
			"A sync.Pool of open files lowers the 210 ms to 9.2 ms."),
		Statement:   "1,000 files from 1,000 goroutines, as C1: by re-using open files from a sync.Pool",
		Claimed:     "210 ms become 9.2 ms",
		Promise:     "os.Create: kill, old or new; the pools: none, a file is truncated for its next user",
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeC4(ev, e.ID()) },
	}
}

func judgeC4(ev *evidence, id string) judgement {
	lack := ev.processors(c1Processors)
	return ruling("A collection empties a sync.Pool and closes its files. "+onFS(ev),
		claimed("speed of Get and Put of open files against os.Create, 1,000 of 1,000 goroutines", ev.ratio(id, variantNamed, variantSyncPool), 210/9.2).needs(lack).
			note(notSameJob+": no file is made"),
		figureOf("files that the pool had to make anew", fmt.Sprintf("%.0f", ev.metric(id, variantSyncPool, "files_made").Median)),
		figureOf("truncated for the next user", factor(ev.ratio(id, variantNamed, variantTruncated))),
		figureOf("Stele's pool of unnamed files, empty at first", factor(ev.ratio(id, variantNamed, variantPool))),
		figureOf("1,000 files", fmt.Sprintf("os.Create %s, sync.Pool %s", total(ev.time(id, variantNamed)), total(ev.time(id, variantSyncPool)))))
}
