package iojob

import (
	"math"
	"slices"

	"github.com/stele-go/stele/lab/run"
)

// Behind returns a note on each job of a result that does not keep up with its rate. Its
// queue grows as long as a block lasts, and its latency with it: that is no figure of the
// disk.
func Behind(res *run.Result) (notes []run.Note) {
	for i := range res.Variants {
		v := &res.Variants[i]
		offered := v.Metrics[metricOffered].Median
		if v.Error == "" && v.OpsPerSecond.Hi < keptUp*offered && queues(res, v.Name, offered) {
			notes = append(notes, run.Note{Code: run.NoteBehind, Place: res.Place, Text: v.Name, N: int64(math.Round(v.OpsPerSecond.Median)), Of: int64(math.Round(offered))})
		}
	}
	return notes
}

const (
	// keptUp is the share of the rate that a job has to do: its interval lies below that
	// by chance once in forty runs at most.
	keptUp = 0.95
	// late is how much longer than the mean latency a block takes to end, once all
	// operations have arrived. It takes one latency where the queue does not grow, and
	// two where it grows from the first operation to the last.
	late = 1.5
)

// queues reports whether the queue of a job grows in most of its blocks, which end late
// then. A job with a long latency ends late too, and keeps up.
func queues(res *run.Result, name string, offered float64) bool {
	var ends []float64
	for i := range res.Blocks {
		if b := &res.Blocks[i]; b.Variant == name && b.Role == run.RoleTimed && b.Error == "" && b.Response > 0 {
			end := float64(b.Wall) - 1e9*float64(b.Ops)/offered
			ends = append(ends, end/b.PerOp())
		}
	}
	slices.Sort(ends)
	return len(ends) > 0 && ends[len(ends)/2] > late
}
