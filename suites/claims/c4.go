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
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
)

const (
	variantSyncPool = "sync.Pool"
	variantFullPool = "sync.Pool, filled before"
	variantPool     = "newfile.Pool"
)

// reuse takes open files out of a sync.Pool, truncates them and puts them back. An empty
// pool makes a new one. filled: one for each goroutine is made before.
func reuse(b *lab.B, filled bool) (err error) {
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
	if filled {
		for range publishedFiles {
			f, err := create()
			if err != nil {
				return err
			}
			pool.Put(f)
		}
		made.Store(0)
	}
	err = deal(b, publishedFiles, func(int64) error {
		f, ok := pool.Get().(*os.File)
		if !ok {
			var err error
			if f, err = create(); err != nil {
				return err
			}
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
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
				Name: variantSyncPool, Doc: "taken out of a sync.Pool that is empty at first, truncated, put back", Promise: lost, Baseline: true,
				Run: func(b *lab.B) error { return reuse(b, false) },
			},
			{
				Name: variantFullPool, Doc: "the same with 1,000 open files in it at first", Promise: lost,
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
	const claimed = 210 / 9.2
	text := fmt.Sprintf("os.Create %s. ", total(ev.time(id, variantNamed)))
	faster := func(v string) run.Estimate {
		s := ev.times(id, variantNamed, v)
		text += fmt.Sprintf("%s %s, %s as fast", v, total(ev.time(id, v)), factor(s))
		return s
	}
	empty := faster(variantSyncPool)
	text += fmt.Sprintf(", having made %.0f files. ", ev.metric(id, variantSyncPool, "files_made").Median)
	full := faster(variantFullPool)
	text += fmt.Sprintf(", having made %.0f more. ", ev.metric(id, variantFullPool, "files_made").Median)
	faster(variantPool)
	text += "."
	return decide(text,
		"A sync.Pool had to be at least "+asked(claimed)+" as fast, empty at first and filled before. The ways promise different things: a file of os.Create stays, a file of a pool is lent.",
		"whether the pool was filled before", claimedFactor(empty, claimed), claimedFactor(full, claimed))
}
