package claims

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore/timeindex"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L7.
const (
	l7Scan  = "every range of the series scanned"
	l7Coded = "B+ tree, one search and along the leaves"
	l7Meant = "B+ tree, a search for each series"
)

// The index of L7, which the claim does not describe: for each series ranges one after the
// other, each of a second and a little late.
const (
	l7Series = 200
	l7Span   = int64(time.Second)
	l7Late   = int64(50 * time.Millisecond)
	l7Window = int64(500 * time.Millisecond)
	l7Gap    = 100 * time.Microsecond // between queries: the published 10,000 a second
)

// l7Asked has the numbers of series in a query, l7Ranges those of the ranges of a series.
var (
	l7Asked  = []int{1, 100}
	l7Ranges = []int{10, 1000}
)

func l7Items(b *lab.B, ranges int) []timeindex.Item {
	items := make([]timeindex.Item, 0, l7Series*ranges)
	for file := range int64(ranges) {
		for s := range uint32(l7Series) {
			from := file*l7Span - b.Rand.Int64N(l7Late)
			items = append(items, timeindex.Item{
				Stream: s, Ordinal: s, Segment: uint64(file), Min: from, Max: from + l7Span, Rows: 100, Raw: 14_000,
			})
		}
	}
	return items
}

// An l7Query appends the items of series with entries from from to to. The series follow
// each other.
type l7Query func(found []timeindex.Item, series []uint32, from, to int64) []timeindex.Item

func l7(series, ranges int) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "L7", Params: run.Params{"series": strconv.Itoa(series), "ranges": strconv.Itoa(ranges)},
		Question: "How long does a time-range lookup in the index take, and how much memory does it need?",
		Op: fmt.Sprintf("a lookup, 10,000 of which are due in a second: the ranges of time of %d of %d series with entries in a window of 500 ms; each series has %d",
			series, l7Series, ranges),
		Ops: 1500, MaxRounds: 10, Stateless: true,
	}
	variant := func(name, doc string, open func([]timeindex.Item) l7Query) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return runL7(b, series, ranges, open)
		}}
	}
	e.Variants = firstIsBaseline(
		variant(l7Scan, "A: a list for each series, scanned from its beginning", scanSeries),
		variant(l7Coded, "B as coded: the first key from (first series, t1) on, then along the leaves to (last series, t2). Keys begin with the series, so this is no range of time, and it misses what begins before t1", alongLeaves),
		variant(l7Meant, "B as meant: package timeindex, a search for each series", searchTree))
	return e
}

// l7Matches is what a lookup asks of an item.
func l7Matches(i *timeindex.Item, from, to int64) bool { return i.Min < to && i.Max >= from }

func scanSeries(items []timeindex.Item) l7Query {
	lists := make([][]timeindex.Item, l7Series)
	for _, i := range items {
		lists[i.Stream] = append(lists[i.Stream], i)
	}
	return func(found []timeindex.Item, series []uint32, from, to int64) []timeindex.Item {
		for _, s := range series {
			for i := range lists[s] {
				if item := &lists[s][i]; l7Matches(item, from, to) {
					found = append(found, *item)
				}
			}
		}
		return found
	}
}

// l7Leaf is how many items a leaf has.
const l7Leaf = 64

// alongLeaves is the B+ tree as told: leaves of items sorted by series and start, mended by
// links from each to the next, which the report's nodes lack. The nodes above them are one
// sorted list of the leaves' first keys.
func alongLeaves(items []timeindex.Item) l7Query {
	order := func(a, b timeindex.Item) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Min, b.Min))
	}
	sorted := slices.SortedFunc(slices.Values(items), order)
	var firsts []timeindex.Item
	for i := 0; i < len(sorted); i += l7Leaf {
		firsts = append(firsts, sorted[i])
	}
	return func(found []timeindex.Item, series []uint32, from, to int64) []timeindex.Item {
		first := timeindex.Item{Stream: series[0], Min: from}
		last := timeindex.Item{Stream: series[len(series)-1], Min: to}
		leaf, _ := slices.BinarySearchFunc(firsts, first, order)
		start := max(0, leaf-1) * l7Leaf
		at, _ := slices.BinarySearchFunc(sorted[start:min(start+l7Leaf, len(sorted))], first, order)
		for at += start; at < len(sorted) && order(sorted[at], last) < 0; at++ {
			found = append(found, sorted[at])
		}
		return found
	}
}

func searchTree(items []timeindex.Item) l7Query {
	tree := new(timeindex.Tree).With(items, nil)
	return func(found []timeindex.Item, series []uint32, from, to int64) []timeindex.Item {
		for _, s := range series {
			found = slices.AppendSeq(found, tree.Overlapping(s, from, to))
		}
		return found
	}
}

// runL7 checks the first results: wrong_share is the share of lookups that find other items
// than a scan does.
func runL7(b *lab.B, series, ranges int, open func([]timeindex.Item) l7Query) error {
	items := l7Items(b, ranges)
	query, scan := open(items), scanSeries(items)
	all := make([]uint32, l7Series)
	for i := range all {
		all[i] = uint32(i)
	}
	var found []timeindex.Item
	next := func(query l7Query) {
		first := b.Rand.IntN(l7Series - series + 1)
		from := b.Rand.Int64N(int64(ranges) * l7Span)
		found = query(found[:0], all[first:first+series], from, from+l7Window)
	}
	const checked = 50
	wrong := 0
	for range checked {
		first, from := b.Rand.IntN(l7Series-series+1), b.Rand.Int64N(int64(ranges)*l7Span)
		want := scan(nil, all[first:first+series], from, from+l7Window)
		if !slices.Equal(query(nil, all[first:first+series], from, from+l7Window), want) {
			wrong++
		}
	}
	b.Report("wrong_share", float64(wrong)/checked)
	items, scan = nil, nil // only the index counts as memory
	runtime.GC()
	before := heapObjects()
	most, lookups := before, 0
	latency, err := openArrivals(b, l7Gap, func() error {
		next(query)
		if lookups++; lookups%64 == 0 {
			most = max(most, heapObjects())
		}
		return nil
	})
	reportPercentile(b, "query", latency, 95)
	b.Report("heap_growth_share", float64(most-before)/float64(before))
	b.Report("heap_per_item_bytes", float64(before)/float64(l7Series*ranges))
	runtime.KeepAlive(query)
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
		Experiments: l7Experiments(),
		judge:       judgeL7,
	}
}

func l7Experiments() (list []lab.Experiment) {
	for _, ranges := range l7Ranges {
		for _, series := range l7Asked {
			list = append(list, l7(series, ranges))
		}
	}
	return list
}

// judgeL7 asks for the ratio of 100 series to one, at most the claimed one and a tenth. Times
// are shown: the report's have a network in them.
func judgeL7(ev *evidence) judgement {
	const ratio, limit = 3.2 / 0.8, 3.2 / 0.8 * (1 + slack)
	var parts []part
	for _, ranges := range l7Ranges {
		for _, v := range []struct{ name, how string }{{l7Coded, "as coded"}, {l7Meant, "as meant"}, {l7Scan, "A, a scan"}} {
			took := func(series int) run.Estimate { return ev.metric(idOf(l7(series, ranges)), v.name, "query_p95_ns") }
			condition := fmt.Sprintf("%s, %d ranges a series", v.how, ranges)
			p := most("p95 of 100 series against one", quotient(took(100), took(1)), limit, factor).under(condition)
			if v.name == l7Scan {
				p = p.onlyShown()
			}
			if wrong := ev.metric(idOf(l7(100, ranges)), v.name, "wrong_share").Median; wrong > 0 {
				p = p.wrong(fmt.Sprintf("%.0f %% of lookups find other ranges than a scan", 100*wrong))
			}
			parts = append(parts, p, figureOf("p95 and memory, "+condition, l7Figures(ev, v.name, ranges)))
		}
	}
	return ruling(fmt.Sprintf("100 series had to take at most %.1fx of one (the claimed %.1fx and a tenth). Latency counts from when a lookup was due; no network is in it, as there is in the report's 0.8 and 3.2 ms, so times are shown only. Memory is the growth of the heap from before the lookups to its highest during them, garbage included. The report describes no index: this one has %d series.",
		limit, ratio, l7Series), parts...)
}

func l7Figures(ev *evidence, variant string, ranges int) string {
	var texts []string
	for _, series := range l7Asked {
		id := idOf(l7(series, ranges))
		p95, grown := ev.metric(id, variant, "query_p95_ns"), ev.metric(id, variant, "heap_growth_share")
		if math.IsNaN(p95.Median) || math.IsNaN(grown.Median) {
			return ""
		}
		texts = append(texts, fmt.Sprintf("%d series %s, memory +%.1f %%", series, micros(p95), 100*grown.Median))
	}
	return strings.Join(texts, "; ")
}
