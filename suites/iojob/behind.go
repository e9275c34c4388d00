package iojob

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/lab/run"
)

// Behind returns a sentence for each job of a result that does not keep up with its rate.
// Its queue grows as long as a block lasts, and its latency with it: that is no figure of
// the disk.
func Behind(res *run.Result) (sentences []string) {
	for i := range res.Variants {
		v := &res.Variants[i]
		offered := v.Metrics[metricOffered].Median
		if v.Error == "" && v.OpsPerSecond.Hi < keptUp*offered && queues(res, v.Name, offered) {
			sentences = append(sentences, fmt.Sprintf("Job %s in %s does not keep up with its rate: it does %.0f of the %.0f operations a second that arrive. "+
				"Its latency grows as long as a block lasts; take a lower rate.", v.Name, res.Place, v.OpsPerSecond.Median, offered))
		}
	}
	return sentences
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
