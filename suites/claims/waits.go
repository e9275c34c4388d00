package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// watched has the waits of a block in which goroutines were watched.
type watched struct {
	*run.Waits
	ops int64
}

// watched returns the blocks in which a variant was watched and which have every kind of
// record that needed names: "trace", "kernel", "stack".
func (ev *evidence) watched(id, name string, needed ...string) []watched {
	v := ev.variant(id, name)
	if v == nil {
		return nil
	}
	var out []watched
	tried := false
	why := fmt.Sprintf("no block of %q in %s in which goroutines were watched", name, id)
	for i := range ev.results[id].Blocks {
		b := &ev.results[id].Blocks[i]
		if b.Variant != name || b.Waits == nil || b.Error != "" || b.Ops <= 0 {
			continue
		}
		tried = true
		at := slices.IndexFunc(needed, func(n string) bool { return b.Waits.Missing[n] != (run.Reason{}) })
		if at >= 0 { // one block may be too short for a sample, and another not
			why = fmt.Sprintf("%s: %s", id, report.Reason(b.Waits.Missing[needed[at]]))
			continue
		}
		out = append(out, watched{b.Waits, b.Ops})
	}
	switch {
	case out != nil:
	case v.Time.N == 0 && !tried: // the time was up
		ev.early = true
	default:
		ev.miss("%s", why)
	}
	return out
}

// time returns the time of the waits that take selects.
func (w *watched) time(take func(*run.Wait) bool) (sum float64) {
	for i := range w.Series {
		if take(&w.Series[i]) {
			for _, t := range w.Series[i].Time {
				sum += float64(t)
			}
		}
	}
	return sum
}

func anyWait(w *run.Wait) bool { return w.Where != run.WaitRunning }

func kernelWait(w *run.Wait) bool { return w.Where == run.WaitKernel }

func causeIs(cause string) func(*run.Wait) bool {
	return func(w *run.Wait) bool { return w.Cause == cause }
}

// waitShare returns one kind of wait as a share of another, one datum for each block.
// Blocks without any of the other are left out.
func waitShare(blocks []watched, part, whole func(*run.Wait) bool) run.Estimate {
	var shares []float64
	for i := range blocks {
		if all := blocks[i].time(whole); all > 0 {
			shares = append(shares, blocks[i].time(part)/all)
		}
	}
	return medianOf(shares)
}

// waitPerOp returns the time that an operation's goroutine spent in a kind of wait, in
// nanoseconds.
func waitPerOp(blocks []watched, part func(*run.Wait) bool) run.Estimate {
	var perOp []float64
	for i := range blocks {
		perOp = append(perOp, blocks[i].time(part)/float64(blocks[i].ops))
	}
	return medianOf(perOp)
}

// waitList lists the causes of most of the waiting: "91 % ready, ...; 5 % ...".
func waitList(blocks []watched, most int) string {
	sums := map[string]float64{}
	var all float64
	for i := range blocks {
		for k := range blocks[i].Series {
			s := &blocks[i].Series[k]
			if anyWait(s) {
				for _, t := range s.Time {
					sums[s.Cause] += float64(t)
					all += float64(t)
				}
			}
		}
	}
	if all == 0 {
		return "no wait was seen"
	}
	type part struct {
		cause string
		share float64
	}
	var parts []part
	for cause, t := range sums {
		parts = append(parts, part{cause, t / all})
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.cause, b.cause))
	})
	var out []string
	for _, p := range parts[:min(len(parts), most)] {
		if p.share < 0.0005 {
			break
		}
		out = append(out, fmt.Sprintf("%.1f %% %s", 100*p.share, report.Cause(p.cause)))
	}
	return strings.Join(out, "; ")
}
