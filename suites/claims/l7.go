package claims

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore/timeindex"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L7.
const (
	l7Scan    = "scan of the series"
	l7Visited = "B+ tree, what is found is visited"
	l7Kept    = "B+ tree, what is found is returned"
)

// The index of L7, which the claim does not describe: for each series l7Files files, one
// after the other, each of a second and a little late.
const (
	l7Series = 400
	l7Files  = 1000
	l7Span   = int64(time.Second)
	l7Late   = int64(50 * time.Millisecond)
	l7Window = int64(500 * time.Millisecond)
)

// l7Asked has the numbers of series in a query.
var l7Asked = []int{1, 100}

func l7Items(b *lab.B) []timeindex.Item {
	items := make([]timeindex.Item, 0, l7Series*l7Files)
	for file := range int64(l7Files) {
		for s := range uint32(l7Series) {
			from := file*l7Span - b.Rand.Int64N(l7Late)
			items = append(items, timeindex.Item{
				Stream: s, Ordinal: s, Segment: uint64(file), Min: from, Max: from + l7Span, Rows: 100, Raw: 14_000,
			})
		}
	}
	return items
}

// An l7Index builds an index and returns its query, which counts the items it finds.
type l7Index func(items []timeindex.Item) (query func(series []uint32, from, to int64) int)

func l7(series int) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L7", Params: run.Params{"series": strconv.Itoa(series)},
		Question: "How long does a time-range lookup in the index take, and how much memory does it need?",
		Op:       tickOp + fmt.Sprintf("each for the files with entries of %d of 400 series in a window of 500 ms; the index has 1,000 files of each", series),
		Ops:      1000, MaxRounds: 10, Stateless: true,
	}
	variant := func(name, doc string, open l7Index) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return runL7(b, series, open)
		}}
	}
	e.Variants = firstIsBaseline(
		variant(l7Scan, "a list for each series, scanned from its beginning", scanSeries),
		variant(l7Visited, "package timeindex", visitTree),
		variant(l7Kept, "package timeindex, and a new list of the found items for each query", keepFromTree))
	return e
}

func scanSeries(items []timeindex.Item) func([]uint32, int64, int64) int {
	lists := make([][]timeindex.Item, l7Series)
	for _, i := range items {
		lists[i.Stream] = append(lists[i.Stream], i)
	}
	return func(series []uint32, from, to int64) (n int) {
		for _, s := range series {
			for _, i := range lists[s] {
				if i.Min < to && i.Max >= from {
					n++
				}
			}
		}
		return n
	}
}

func visitTree(items []timeindex.Item) func([]uint32, int64, int64) int {
	tree := new(timeindex.Tree).With(items, nil)
	return func(series []uint32, from, to int64) (n int) {
		for _, s := range series {
			for range tree.Overlapping(s, from, to) {
				n++
			}
		}
		return n
	}
}

func keepFromTree(items []timeindex.Item) func([]uint32, int64, int64) int {
	tree := new(timeindex.Tree).With(items, nil)
	return func(series []uint32, from, to int64) int {
		var found []timeindex.Item
		for _, s := range series {
			found = slices.AppendSeq(found, tree.Overlapping(s, from, to))
		}
		return len(found)
	}
}

func runL7(b *lab.B, series int, open l7Index) error {
	items := l7Items(b)
	query := open(items)
	all := make([]uint32, l7Series)
	for i := range all {
		all[i] = uint32(i)
	}
	n := len(items)
	items = nil // only the index counts as memory
	runtime.GC()
	before := heapObjects()
	most := before
	found, queries := 0, 0
	err := pacedQueries(b, func() error {
		first := b.Rand.IntN(l7Series - series + 1)
		from := b.Rand.Int64N(l7Files * l7Span)
		found += query(all[first:first+series], from, from+l7Window)
		queries++
		return nil
	}, func() { most = max(most, heapObjects()) })
	b.Report("heap_growth_share", float64(most-before)/float64(before))
	b.Report("heap_per_item_bytes", float64(before)/float64(n))
	b.Report("found_per_query", float64(found)/float64(max(1, queries)))
	return err
}

// heapObjects returns the memory of live objects and of those not yet collected.
func heapObjects() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func claimL7() Claim {
	return Claim{
		ID: "L7",
		Source: reportL.source("4.2",
			"A B+ tree over series and time answers a window of 500 ms in 0.8 ms (p95) for one series and in 3.2 ms for 100."),
		Statement:   "time-range lookup in the index at 10k queries a second, 500 ms window: one series, 100 series",
		Claimed:     "p95 0.8 ms, memory +2.1 %; 3.2 ms, +18.7 %",
		Promise:     noneText,
		Experiments: experiments(l7, l7Asked...),
		judge:       judgeL7,
	}
}

// judgeL7 takes the claimed figures as bounds, and also their ratio of 100 series to one,
// which does not depend on the machine.
func judgeL7(ev *evidence) judgement {
	p95 := [...]float64{0.8e6, 3.2e6}
	memory := [...]float64{0.021, 0.187}
	var answers []answer
	text := ""
	for _, v := range []string{l7Visited, l7Kept, l7Scan} {
		took := make([]run.Estimate, len(l7Asked))
		text += upperFirst(v) + ":"
		for i, n := range l7Asked {
			id := idOf(l7(n))
			took[i] = ev.metric(id, v, "call_p95_ns")
			grown := ev.metric(id, v, "heap_growth_share")
			text += fmt.Sprintf(" %d series p95 %s, memory +%.1f %%;", n, nanos(took[i]), 100*grown.Median)
			if v != l7Scan {
				answers = append(answers, atMost(took[i], p95[i]), atMost(grown, memory[i]))
			}
		}
		cost := quotient(took[1], took[0])
		text += fmt.Sprintf(" 100 series take %s of one (claimed %.0fx). ", factor(cost), p95[1]/p95[0])
		if v != l7Scan {
			answers = append(answers, atMost(cost, p95[1]/p95[0]))
		}
	}
	why := fmt.Sprintf("The tree's p95 and its growth of memory had to be no more than claimed, and 100 series no more than the claimed %.0fx of one, each plus %.0f %%, whether the found items are visited or returned in a list. The report describes neither the index, which has 400 series of 1,000 files here, nor the base of its memory: here the growth is from the heap before the queries to the highest heap during them, garbage included. A p95 is of a call, in blocks of 10,000.",
		p95[1]/p95[0], 100*slack)
	return decide(text, why, "times or the ratio of 100 series to one, and on whether the found items are returned in a list", answers...)
}
