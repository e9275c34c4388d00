package claims

import (
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/job"
)

// The pace of L7 and L9: ten queries each millisecond are the published 10,000
// a second. An operation is a millisecond of that: the runtime's timers do not
// wake for less.
const (
	storeTick    = time.Millisecond
	storePerTick = 10
)

// tickOp is the operation of pacedQueries.
const tickOp = "a millisecond in which ten queries come, the published 10,000 a second: "

// pacedQueries sleeps between ticks. The time of a query is counted from its
// call, and from when it was due, its tick, so that what holds it up counts for
// all that wait behind. each, unless nil, is called after each tick.
func pacedQueries(b *lab.B, query func() error, each func()) error {
	call, wait := job.NewTimer(), job.NewTimer()
	begun := time.Now()
	due := begun
	for b.Loop() {
		due = due.Add(storeTick)
		time.Sleep(time.Until(due))
		for range storePerTick {
			begin := time.Now()
			if err := query(); err != nil {
				return err
			}
			call.Since(begin)
			wait.Since(due)
		}
		if each != nil {
			each()
		}
	}
	b.Report("queries_per_second", float64(storePerTick*b.N)/time.Since(begun).Seconds())
	call.Report(b, "call")
	wait.Report(b, "query")
	if err := stats.CheckPercentile(95, call.Hist.Count(), 0.95); err != nil {
		b.ReportMissing("call_p95_ns", err.Error())
		return nil
	}
	b.Report("call_p95_ns", call.Hist.Quantile(0.95))
	return nil
}
