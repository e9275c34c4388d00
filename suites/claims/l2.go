package claims

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// The variants of L2.
const (
	l2Lock  = "lock, slice"
	l2Ring  = "ring"
	l2Coded = "ring as coded"
)

// l2Received is the share of the entries that consumers received once and whole.
const l2Received = "received_share"

// An l2Load is how many goroutines are on either side.
type l2Load struct{ producers, consumers int }

// l2Loads are the published load, one producer and several consumers, and that of a log.
var (
	l2AsTold  = []l2Load{{1, 2}, {1, 4}}
	l2ForLogs = []l2Load{{4, 1}, {64, 1}}
)

func (l l2Load) String() string {
	return units.Count(l.producers, "producer") + ", " + units.Count(l.consumers, "consumer")
}

// An l2Receipt is what a consumer received: the number of entries, and sums that tell a
// lost, a doubled and a torn one.
type l2Receipt struct{ n, sum, torn uint64 }

// receive takes entries until there are no more.
func (r *l2Receipt) receive(q l2Queue) {
	batch := make([]l2Entry, l2Batch)
	for {
		n := q.take(batch)
		if n < 0 {
			return
		}
		for i := range batch[:n] {
			e := &batch[i]
			r.n++
			r.sum += uint64(e.time)
			if e.length != l2Data || binary.LittleEndian.Uint64(e.data[l2Data-8:]) != uint64(e.time) {
				r.torn++
			}
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
}

// share returns the share of n entries that were received once and whole, where those
// pushed add up to sum.
func (r l2Receipt) share(n, sum uint64) float64 {
	if r.n == n && r.sum != sum {
		return 0 // some twice, some never
	}
	return float64(min(r.n, n)-min(r.torn, r.n)) / float64(n)
}

// l2 hands entries from producers to consumers. The timed part is that of the producers.
func l2(load l2Load) lab.Experiment {
	variant := func(name, doc string, open func() l2Queue) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: lost, Run: func(b *lab.B) error {
			q := open()
			receipts := make(chan l2Receipt, load.consumers)
			for range load.consumers {
				go func() {
					var r l2Receipt
					r.receive(q)
					receipts <- r
				}()
			}
			var next, sum atomic.Uint64
			err := b.Parallel(load.producers, func(w *lab.Worker) error {
				e := l2Entry{length: l2Data}
				own := uint64(0)
				for w.Loop() {
					e.time = int64(next.Add(1))
					binary.LittleEndian.PutUint64(e.data[l2Data-8:], uint64(e.time))
					own += uint64(e.time)
					q.push(&e)
				}
				sum.Add(own)
				return nil
			})
			q.close()
			var all l2Receipt
			for range load.consumers {
				r := <-receipts
				all = l2Receipt{all.n + r.n, all.sum + r.sum, all.torn + r.torn}
			}
			b.Report(l2Received, all.share(next.Load(), sum.Load()))
			return err
		}}
	}
	e := lab.Experiment{
		Suite: "claims", Name: "L2", MaxRounds: 12,
		Params:   run.Params{"consumers": strconv.Itoa(load.consumers), "producers": strconv.Itoa(load.producers)},
		Question: "Is a padded ring faster than a lock and a slice for handing log entries over?",
		Op:       "one entry of 512 bytes handed over, the queue full or not",
		Variants: firstIsBaseline(variant(l2Lock, "A: sync.Mutex around a slice; a consumer takes up to 64 entries at once", newLockedSlice)),
	}
	if load.producers > 1 {
		e.Variants = append(e.Variants, variant(l2Ring, "B as meant for logs: mpsc.Queue, taken in batches", newMPSCRing))
		return e
	}
	e.Variants = append(e.Variants,
		variant(l2Ring, "B as meant: slots of whole cache lines with a sequence number each; consumers claim up to 64 at once, and nothing is lost", newSPMCRing),
		variant(l2Coded, "B as coded: consumers read from head to commit, a range that is always empty; a full ring is overwritten", newCodedRing))
	return e
}

func claimL2() Claim {
	c := Claim{
		ID: "L2",
		Source: reportL.source("3.1",
			"A ring aligned to 64 bytes lowers the mean of a log write from 1,200 to 86 ns and cache misses from 18.7 to 2.3 %."),
		Statement: "one log entry handed over: a lock and a slice (A), a padded lock-free ring drained in batches (B)",
		Claimed:   "1,200 to 86 ns; cache misses 18.7 to 2.3 %",
		Promise:   "none: an entry that was handed over is in memory and lost with the process",
		judge:     judgeL2,
	}
	for _, l := range append(l2AsTold, l2ForLogs...) {
		c.Experiments = append(c.Experiments, l2(l))
	}
	return c
}

func judgeL2(ev *evidence) judgement {
	const speed, misses = 1200. / 86, 18.7 / 2.3
	lack := ev.processors(2) // one for each side
	var parts []part
	for _, l := range append(l2AsTold, l2ForLogs...) {
		id := idOf(l2(l))
		for _, ring := range []string{l2Ring, l2Coded} {
			if ring == l2Coded && l.producers > 1 {
				continue
			}
			condition := map[string]string{l2Ring: "as meant, ", l2Coded: "as coded, "}[ring] + l.String()
			time := claimed("time, lock against ring", ev.speedup(id, ring), speed).under(condition).needs(lack)
			fewer, why := noEstimate, ""
			if _, why = ev.known(id, l2Lock, "cache_misses_per_op"); why == "" {
				fewer = ev.ratioOf(id, "cache_misses_per_op", l2Lock, ring)
			} else {
				why = "cache misses: " + why
			}
			missed := claimed("cache misses, lock against ring", fewer, misses).under(condition).needs(cmp.Or(lack, why))
			if got := ev.metric(id, ring, l2Received); got.Median < 1 {
				how := fmt.Sprintf("%.0f %% of the entries arrived", 100*got.Median)
				time, missed = time.wrong(how), missed.wrong(how)
			}
			parts = append(parts, time, missed)
		}
		parts = append(parts, figureOf("an entry, "+l.String(), fmt.Sprintf("lock %s, ring %s", nanos(ev.time(id, l2Lock)), nanos(ev.time(id, l2Ring)))))
	}
	return ruling("The published ring has one producer and many consumers; logs have it the other way round. As coded its range of filled slots is always empty, and a full ring is overwritten."+ev.onProcessors(), parts...)
}
