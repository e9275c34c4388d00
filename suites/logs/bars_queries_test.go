package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore"
)

type queryFigures struct {
	Open, First                        float64 // ms
	Rare, Part, LastOf, LastAll, Count times
	RSS                                float64
}

// runQuery queries an idle store.
func runQuery(job barsJob) (any, error) {
	lines, err := job.file()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	ctx := context.Background()
	begun := time.Now()
	s, err := logstore.Open(job.Dir, logstore.Options{})
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	f := queryFigures{Open: time.Since(begun).Seconds() * 1e3}
	n, took, err := countAll(ctx, s)
	if err != nil || n < job.Lines {
		return nil, errors.Join(err, fmt.Errorf("%d lines are in the store, at least %d were appended", n, job.Lines))
	}
	f.First = took.Seconds() * 1e3

	// No stream is queried twice, and the small ones come last.
	ask := func(figure *times, n int, query func(i int) (logstore.Query, int)) {
		var all []time.Duration
		for i := range n {
			q, want := query(i)
			got, took, e := find(ctx, s, q)
			if e == nil && got != want {
				e = fmt.Errorf("%v of %s: %d found, not %d", q.Filter, q.Selector, got, want)
			}
			err = errors.Join(err, e)
			all = append(all, took)
		}
		*figure = timesOf(all)
	}
	ask(&f.Rare, rareOf, func(i int) (logstore.Query, int) {
		return logstore.Query{Filter: logstore.Word(rareWordOf(i))}, rareEach
	})
	ask(&f.Part, rareOf, func(i int) (logstore.Query, int) {
		return logstore.Query{Filter: logstore.Contains(rareWordOf(i)[2:])}, rareEach
	})
	counts, e := s.Count(ctx, logstore.Query{}, 0)
	err = errors.Join(err, e)
	slices.SortFunc(counts, func(a, b logstore.Group) int { return int(b.Buckets[0].Entries - a.Buckets[0].Entries) })
	ask(&f.LastOf, len(counts), func(i int) (logstore.Query, int) {
		return lastOf(counts[i].Labels, logLast), int(min(logLast, counts[i].Buckets[0].Entries))
	})
	ask(&f.LastAll, rareOf, func(int) (logstore.Query, int) {
		return logstore.Query{Order: logstore.Backward, Limit: logLast}, logLast
	})
	var all []time.Duration
	for range rareOf {
		got, took, e := countAll(ctx, s)
		if e == nil && got != n {
			e = fmt.Errorf("%d lines counted; %d were before", got, n)
		}
		err = errors.Join(err, e)
		all = append(all, took)
	}
	f.Count = timesOf(all)
	f.RSS = peakMB()
	return f, errors.Join(err, s.Close())
}

type visibleFigures struct {
	Took      times
	First, Of int // found by the first query, of so many
}

// runVisible appends a line and queries it at once, in streams with other lines and in
// new ones.
func runVisible(job barsJob) (any, error) {
	lines, err := job.file()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	ctx := context.Background()
	s, err := logstore.Open(job.Dir, logstore.Options{})
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	var f visibleFigures
	var all []time.Duration
	for i := range 2000 {
		l := lines.streams[i%len(lines.streams)]
		if i%10 == 0 {
			l = logstore.MustLabels("app", "visible", "run", time.Now().String())
		}
		took, queries, err := probe(ctx, s, l, fmt.Appendf(nil, "line %d of %d", i, time.Now().UnixNano()))
		if err != nil {
			return nil, err
		}
		if queries == 1 {
			f.First++
		}
		all = append(all, took)
	}
	f.Of, f.Took = len(all), timesOf(all)
	return f, s.Close()
}

type smallFigures struct {
	Rate    float64
	Took    times
	Queries [4]times // by kind: word, stream, count, everything
	RSS     float64
}

const (
	smallAppenders = 64
	smallTime      = 10 * time.Second
)

// runSmall has appenders of one line, and a goroutine that makes queries of each kind in
// turn.
func runSmall(job barsJob) (any, error) {
	lines, err := job.file()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	lines.around = true
	ctx := context.Background()
	s, err := logstore.Open(job.Dir, logstore.Options{})
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	var f smallFigures
	stop := make(chan struct{})
	var asked [4][]time.Duration // by kind
	var askErr error
	var asking sync.WaitGroup
	asking.Go(func() { asked, askErr = askInTurn(ctx, s, lines, job.Queries, stop) })
	begun := time.Now()
	time.AfterFunc(smallTime, func() { close(stop) })
	took, err := appendAll(ctx, s, lines, smallAppenders, 1, stop)
	spent := time.Since(begun)
	asking.Wait()
	f.Took, f.RSS = timesOf(took...), peakMB()
	for i := range asked {
		f.Queries[i] = timesOf(asked[i])
	}
	f.Rate = float64(f.Took.N) / spent.Seconds()
	return f, errors.Join(err, askErr, s.Close())
}

// askInTurn makes perSecond queries a second, of each kind in turn, until stop is closed.
// It returns how long each took, by kind.
func askInTurn(ctx context.Context, s *logstore.Store, lines *logFile, perSecond int, stop <-chan struct{}) (asked [4][]time.Duration, failed error) {
	if perSecond <= 0 {
		return asked, nil
	}
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return asked, failed
		case <-tick.C:
		}
		q, want := logstore.Query{Order: logstore.Backward, Limit: logLast}, logLast
		switch i % 4 {
		case 0:
			q, want = logstore.Query{Filter: logstore.Word(rareWordOf(i / 4 % rareOf))}, rareEach
		case 1:
			q, want = lastOf(lines.streams[i/4%len(lines.streams)], logLast), -1
		case 2:
			_, took, err := countAll(ctx, s)
			asked[i%4], failed = append(asked[i%4], took), errors.Join(failed, err)
			continue
		}
		n, took, err := find(ctx, s, q)
		// A line with the word may come again.
		if err == nil && (n < want || q.Limit > 0 && n > q.Limit) {
			err = fmt.Errorf("%v: %d found, not %d", q.Filter, n, want)
		}
		asked[i%4], failed = append(asked[i%4], took), errors.Join(failed, err)
	}
}
