package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore"
)

func app(op logstore.MatchOp, value string) logstore.Selector {
	m, err := logstore.Match("app", op, value)
	if err != nil {
		panic(err)
	}
	return logstore.Selector{m}
}

func (k *soak) queryAll(rng *rand.Rand) {
	q := logstore.Query{Order: logstore.Order(rng.IntN(2))}
	k.find(q, nil, 0, 0)
}

// queryPart runs a query that ends early, by its limit, range or consumer.
func (k *soak) queryPart(rng *rand.Rand) {
	q := logstore.Query{
		Order:  logstore.Order(rng.IntN(2)),
		Filter: []logstore.Filter{nil, nil, soakWord, soakFold}[rng.IntN(4)],
	}
	var of *writer
	if rng.IntN(2) == 0 {
		of = k.writers[rng.IntN(len(k.writers))]
		q.Selector = app(logstore.Equal, of.name)
	} else if rng.IntN(2) == 0 {
		q.Selector = app(logstore.Matches, "a[0-9]+")
	}
	if rng.IntN(2) == 0 {
		q.From = k.now().UnixNano() - rng.Int64N(int64(k.o.Retention))
		q.To = q.From + rng.Int64N(int64(time.Second))
	}
	stop := 0
	switch rng.IntN(3) {
	case 0:
		q.Limit = 1 + rng.IntN(2000)
	case 1:
		stop = 1 + rng.IntN(2000)
	}
	k.find(q, of, stop, 0)
}

// querySlowly runs a query whose consumer takes a second or more for a few
// entries.
func (k *soak) querySlowly(rng *rand.Rand) {
	k.find(logstore.Query{Order: logstore.Order(rng.IntN(2))}, nil, 0, time.Duration(10+rng.IntN(40))*time.Millisecond)
}

// needle queries for one acknowledged entry.
func (k *soak) needle(rng *rand.Rand) {
	w := k.writers[rng.IntN(len(k.writers))]
	w.mu.Lock()
	var b ledgerBatch
	if n := len(w.ledger); n > 0 {
		b = w.ledger[n-1-rng.IntN(min(n, 1000))]
	}
	acked := w.acked
	w.mu.Unlock()
	if b.rows == 0 || b.unsure || b.first >= acked {
		k.pause(time.Millisecond)
		return
	}
	i := rng.Int64N(int64(b.rows))
	word := fmt.Sprintf("%sq%09d", w.name, b.first+i)
	filters := []logstore.Filter{
		logstore.Word(word),
		logstore.Contains(word[1:] + " "),
		logstore.ContainsFold(strings.ToUpper(word)),
		logstore.Regexp(regexp.MustCompile("^" + word + " t[0-9]+ soak")),
		logstore.All(soakWord, logstore.Word(fmt.Sprintf("t%019d", b.time+i)), logstore.Contains(word)),
	}
	q := logstore.Query{Filter: filters[rng.IntN(len(filters))], Order: logstore.Order(rng.IntN(2)), Limit: rng.IntN(3)}
	if rng.IntN(2) == 0 {
		q.Selector = app(logstore.Equal, w.name)
	}
	if n, horizon, ok := k.find(q, w, 0, 0); ok && (n > 1 || n == 0 && b.time+i >= horizon) {
		k.fail("%d entries found with %s, acknowledged with time %d; all from %d on must be there", n, word, b.time+i, horizon)
	} else if n == 1 {
		k.needles.Add(1)
	}
}

// count compares Aggregate, Count or Fold with the ledger: each counts at least the entries
// acknowledged before the call, and at most those appended at its end.
func (k *soak) count(rng *rand.Rand) {
	t, s := k.checklist(), k.store.Load()
	q := logstore.Query{To: k.now().UnixNano()}
	q.From = q.To - rng.Int64N(int64(k.o.Retention))
	if rng.IntN(2) == 0 {
		q.Filter = soakWord
	}
	has, err := k.counted(s, q, rng)
	if errors.Is(err, logstore.ErrBusy) { // it grew while as many others ran as there may be
		k.pause(time.Millisecond)
		return
	}
	if err != nil {
		if !errors.Is(err, logstore.ErrReplaying) && !k.reopened(s, err) && k.ctx.Err() == nil {
			k.fail("count: %v", err)
		}
		return
	}
	horizon, start := k.horizon(), k.ledgerStart()
	for i, w := range k.writers {
		var least, most int64
		w.mu.Lock()
		for _, b := range w.ledger {
			_, n := b.within(q.From, q.To)
			most += n
			if _, n := b.within(max(q.From, horizon), q.To); !b.unsure && b.first < t.acked[i] {
				least += n
			}
		}
		w.mu.Unlock()
		if n := has[w.name]; n < least || n > most && q.From > start {
			k.fail("count has %d entries of %s from %d to %d; want %d to %d", n, w.name, q.From, q.To, least, most)
			return
		}
		k.counts.Add(least)
	}
}

// counted returns the entries of each writer, by one of the ways to count.
func (k *soak) counted(s *logstore.Store, q logstore.Query, rng *rand.Rand) (map[string]int64, error) {
	has := map[string]int64{}
	step := []time.Duration{0, 100 * time.Millisecond}[rng.IntN(2)]
	var groups []logstore.Group
	var err error
	switch rng.IntN(3) {
	case 0:
		groups, err = s.Count(k.ctx, q, step)
	case 1:
		groups, err = s.Aggregate(k.ctx, q, logstore.Aggregation{By: []string{"app"}, Step: step, Top: rng.IntN(2) * 100})
	default:
		var parts []appCount
		err = s.Fold(k.ctx, q, func(func(int64) error) logstore.Folder {
			parts = append(parts, appCount{})
			return parts[len(parts)-1]
		})
		for _, part := range parts {
			for app, n := range part {
				has[app] += n
			}
		}
	}
	for _, g := range groups {
		n, _ := g.Total()
		has[g.Labels.Get("app")] += n
	}
	return has, err
}

// An appCount is a Folder that counts the entries of each writer.
type appCount map[string]int64

func (c appCount) Fold(r logstore.Result) error {
	c[r.Labels.Get("app")]++
	return nil
}

// labels checks that the streams of the latest entries are found.
func (k *soak) labels(rng *rand.Rand) {
	t, s := k.checklist(), k.store.Load()
	from := k.now().UnixNano() - int64(k.o.Retention)
	var values, names []string
	var series []logstore.Labels
	var err error
	which := rng.IntN(3)
	switch which {
	case 0:
		values, err = s.LabelValues(k.ctx, "app", logstore.Query{From: from})
	case 1:
		names, err = s.Labels(k.ctx, logstore.Query{Selector: app(logstore.Matches, "a[0-9]+"), From: from})
	case 2:
		series, err = s.Series(k.ctx, logstore.Query{From: from})
		for _, l := range series {
			values = append(values, l.Get("app"))
		}
	}
	if err != nil {
		if !errors.Is(err, logstore.ErrReplaying) && !k.reopened(s, err) && k.ctx.Err() == nil {
			k.fail("labels: %v", err)
		}
		return
	}
	horizon := max(from, k.horizon())
	for i, w := range k.writers {
		w.mu.Lock()
		there := slices.ContainsFunc(w.ledger, func(b ledgerBatch) bool {
			return !b.unsure && b.first < t.acked[i] && b.time >= horizon
		})
		w.mu.Unlock()
		if there && (which == 1 && !slices.Equal(names, []string{"app", "pod"}) || which != 1 && !slices.Contains(values, w.name)) {
			k.fail("no %s in labels %q, %q, though it has entries since %d", w.name, names, values, horizon)
			return
		}
	}
	k.pause(10 * time.Millisecond)
}

// tail checks that Tail yields the batches of each writer in order, without a gap
// but for those that a LaggedError reports.
func (k *soak) tail(slow bool) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	var sel logstore.Selector
	if !slow {
		sel = app(logstore.Equal, k.writers[3].name)
	}
	type progress struct{ batch, entries int64 }
	at := make([]progress, len(k.writers))
	t, s, refused := k.checklist(), k.store.Load(), k.refused.Load()
	var gap, lost int64
	for f, err := range s.Tail(ctx, logstore.Query{Selector: sel}) {
		var lag *logstore.LaggedError
		if errors.As(err, &lag) {
			lost += lag.Lost
			k.lost.Add(lag.Lost)
			continue
		}
		if err != nil {
			if !k.reopened(s, err) && k.ctx.Err() == nil {
				k.fail("tail: %v", err)
			}
			return
		}
		i, number, ok := k.entry(f)
		if !ok || !t.mark(i, number) {
			k.fail("the tail has %s %d %.40q, which was changed or came before", f.Labels, f.Time, f.Line)
			return
		}
		rows, p := int64(k.writers[i].rows), &at[i]
		if batch := number/rows + 1; batch != p.batch {
			if p.batch > 0 {
				gap += (batch-p.batch)*rows - p.entries
			}
			if batch < p.batch || gap > lost+k.refused.Load()-refused {
				k.fail("the tail has %s %.40q after batch %d, and LaggedErrors for %d entries, of %d missed", f.Labels, f.Line, p.batch-1, lost, gap)
				return
			}
			*p = progress{batch: batch}
		}
		p.entries++
		k.tailed.Add(1)
		if slow {
			k.pause(time.Millisecond)
		}
	}
}
