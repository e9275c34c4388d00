package claims

import (
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/job"
)

// A schedule says when calls are due: perTick of them at each tick. An operation has ticks
// of these.
type schedule struct {
	tick           time.Duration
	perTick, ticks int
	one, many      string // what metrics call them: "line", "lines"
}

// run sleeps between ticks and makes the calls that are due. It reports the time of a call
// from its beginning, and from its tick: a call that takes long counts for all that wait
// behind it. afterTick, unless nil, is called after each tick.
func (s schedule) run(b *lab.B, do func() error, afterTick func()) (call job.Timer, err error) {
	call, wait := job.NewTimer(), job.NewTimer()
	begun := time.Now()
	due := begun
	for b.Loop() {
		for range s.ticks {
			due = due.Add(s.tick)
			time.Sleep(time.Until(due))
			for range s.perTick {
				begin := time.Now()
				if err := do(); err != nil {
					return call, err
				}
				call.Since(begin)
				wait.Since(due)
			}
			if afterTick != nil {
				afterTick()
			}
		}
	}
	calls := float64(s.perTick) * float64(s.ticks) * float64(b.N)
	b.Report(s.many+"_per_second", calls/time.Since(begun).Seconds())
	call.Report(b, "call")
	wait.Report(b, s.one)
	return call, nil
}

// querySchedule is the pace of L7 and L9: ten queries a millisecond are the published 10,000 a
// second. An operation is a millisecond: the runtime's timers do not wake more often.
var querySchedule = schedule{tick: time.Millisecond, perTick: 10, ticks: 1, one: "query", many: "queries"}

// tickOp begins the operation of pacedQueries.
const tickOp = "a millisecond in which ten queries come, the published 10,000 a second: "

// pacedQueries makes queries at querySchedule.
func pacedQueries(b *lab.B, query func() error, afterTick func()) error {
	call, err := querySchedule.run(b, query, afterTick)
	if err != nil {
		return err
	}
	if err := stats.CheckPercentile(95, call.Hist.Count(), 0.95); err != nil {
		b.ReportMissing("call_p95_ns", err.Error())
		return nil
	}
	b.Report("call_p95_ns", call.Hist.Quantile(0.95))
	return nil
}
