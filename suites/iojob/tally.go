package iojob

import (
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
)

// metricOffered is the rate of an open model, in operations a second. A lower rate of
// the block says that the job does not keep up.
const metricOffered = "offered_ops_per_second"

// A tally is what the operations of a block moved, and how long those of each kind
// took where there are both kinds.
type tally struct {
	split         bool // reads and writes are timed apart
	offered       float64
	bytes         int64
	reads, writes job.Timer
}

func newTally(j *Job) *tally {
	return &tally{split: j.reads() && j.writes(), offered: j.Rate, reads: job.NewTimer(), writes: job.NewTimer()}
}

func (t *tally) add(o operation, took time.Duration) {
	if !t.split {
		return
	}
	if o.write {
		t.writes.Hist.Record(max(1, int64(took)))
	} else {
		t.reads.Hist.Record(max(1, int64(took)))
	}
}

func (t *tally) merge(o *tally) {
	t.bytes += o.bytes
	t.reads.Hist.Merge(o.reads.Hist)
	t.writes.Hist.Merge(o.writes.Hist)
}

func (t *tally) report(b *lab.B) {
	if b.N > 0 {
		b.SetBytes(t.bytes / b.N)
	}
	if t.offered > 0 {
		b.Report(metricOffered, t.offered)
	}
	if t.split {
		t.reads.Report(b, "read")
		t.writes.Report(b, "write")
	}
}
