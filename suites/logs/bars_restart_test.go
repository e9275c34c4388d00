package logs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore"
)

type fillFigures struct {
	Lines int64   // acknowledged
	Log   float64 // MB of records
}

// runFill fills the log and seals nothing, with as much memory as that takes.
func runFill(job barsJob) (any, error) {
	lines, err := job.file()
	if err != nil {
		return nil, err
	}
	s, err := logstore.Open(job.Dir, unsealed(barStartOf))
	if err != nil {
		return nil, err
	}
	var f fillFigures
	var count, size atomic.Int64
	errs := make([]error, barsAppenders)
	var all sync.WaitGroup
	for i := range barsAppenders {
		all.Go(func() {
			r := lines.reader()
			for size.Load() < barStartOf {
				b, err := r.read(logChunk)
				if err == nil && len(b) > 0 {
					err = s.Append(context.Background(), b)
				}
				if err != nil || len(b) == 0 {
					errs[i] = err
					return
				}
				count.Add(logChunk)
				for _, s := range b {
					for _, e := range s.Entries {
						size.Add(int64(len(e.Line)))
					}
				}
			}
		})
	}
	all.Wait()
	f.Lines, f.Log = count.Load(), float64(size.Load())/1e6
	if n := s.Stats().Sealed; n > 0 {
		errs = append(errs, fmt.Errorf("%d segments were sealed; want all lines in the log", n))
	}
	return f, errors.Join(errs...) // the store stays open: it is killed
}

type restartFigures struct {
	Open, Ready float64 // s, from the begin
	Queries     int     // answered until ready
	Slowest     float64 // ms
	Found       int64
	Sealed      uint64
	RSS         float64
}

// runRestart opens a store that was killed, with the default memory and its files not
// in the page cache, and queries it until it is ready.
func runRestart(job barsJob) (any, error) {
	if err := dropDir(job.Dir); err != nil {
		return nil, err
	}
	ctx := context.Background()
	var f restartFigures
	begun := time.Now()
	s, err := logstore.Open(job.Dir, logstore.Options{})
	if err != nil {
		return nil, err
	}
	f.Open = time.Since(begun).Seconds()
	became := make(chan time.Duration, 1)
	go func() {
		<-s.Ready()
		became <- time.Since(begun)
	}()
	for ready := false; !ready; {
		_, took, err := find(ctx, s, logstore.Query{Order: logstore.Backward, Limit: logLast})
		if err != nil && !errors.Is(err, logstore.ErrReplaying) {
			return nil, err
		}
		select {
		case d := <-became:
			f.Ready, ready = d.Seconds(), true
		case <-time.After(10 * time.Millisecond):
			f.Queries++
			f.Slowest = max(f.Slowest, took.Seconds()*1e3)
		}
	}
	f.RSS = peakMB()
	if f.Found, _, err = countAll(ctx, s); err != nil {
		return nil, err
	}
	f.Sealed = s.Stats().Sealed
	return f, s.Close()
}
