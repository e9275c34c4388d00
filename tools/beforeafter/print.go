package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stele-go/stele/lab/stats"
)

// ratio returns the ratio of a figure after to before, over the pairs that have it
// on both sides.
func ratio(pairs []pair, figure func(sample) float64, rng *rand.Rand) stats.Estimate {
	var after, before []float64
	for _, p := range pairs {
		a, b := figure(p.after), figure(p.before)
		if a > 0 && b > 0 {
			after, before = append(after, a), append(before, b)
		}
	}
	return stats.RatioPaired(after, before, 0.95, rng, 2000)
}

func timeOf(s sample) float64   { return s.ns }
func cpuOf(s sample) float64    { return s.cpu }
func bytesOf(s sample) float64  { return s.bytes }
func allocsOf(s sample) float64 { return s.allocs }

// suspect reports whether the interval of the pairs is wholly above mark.
func (l *leaf) suspect(mark float64, rng *rand.Rand) bool {
	r := ratio(l.pairs, timeOf, rng)
	return r.Warning == nil && r.Lo > mark
}

// verdict returns the last column of a leaf, and whether it is marked.
func (l *leaf) verdict(mark float64, rng *rand.Rand) (string, bool) {
	switch {
	case l.suspect(mark, rng):
		return fmt.Sprintf("SLOWER: above %v in two series", mark), true
	case l.first != nil:
		return fmt.Sprintf("above %v in one series, not in this", mark), false
	}
	return "", false
}

// print writes the table of leaves, and reports whether one is marked.
func print(w io.Writer, leaves []*leaf, mark float64, rng *rand.Rand) (marked bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tbefore\tafter\tratio\t95 % interval\tCPU before\tafter\tratio\tallocs/op\tB/op\tpairs\t")
	pkg := ""
	for _, l := range leaves {
		if len(l.pairs) == 0 {
			continue
		}
		if l.pkg != pkg {
			pkg = l.pkg
			fmt.Fprintf(t, "%s\t\t\t\t\t\t\t\t\t\t\t\n", pkg)
		}
		said, m := l.verdict(mark, rng)
		marked = marked || m
		time, cpu := ratio(l.pairs, timeOf, rng), ratio(l.pairs, cpuOf, rng)
		fmt.Fprintf(t, "  %s\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n",
			strings.TrimPrefix(l.name, "Benchmark"),
			duration(l.median(0, timeOf)), duration(l.median(1, timeOf)), time.Value, interval(time),
			duration(l.median(0, cpuOf)), duration(l.median(1, cpuOf)), brief(cpu),
			change(l.median(0, allocsOf), l.median(1, allocsOf)),
			change(l.median(0, bytesOf), l.median(1, bytesOf)), len(l.pairs), said)
	}
	t.Flush()
	return marked
}

// median returns that of a figure on one side: 0 before, 1 after.
func (l *leaf) median(side int, figure func(sample) float64) float64 {
	var x []float64
	for _, p := range l.pairs {
		x = append(x, figure([2]sample{p.before, p.after}[side]))
	}
	slices.Sort(x)
	return x[len(x)/2]
}

func interval(e stats.Estimate) string {
	if e.Warning != nil {
		return "too few pairs"
	}
	return fmt.Sprintf("%.3f to %.3f", e.Lo, e.Hi)
}

func brief(e stats.Estimate) string {
	if e.Warning != nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", e.Value, e.Lo, e.Hi)
}

func duration(ns float64) string {
	switch {
	case ns == 0:
		return "-"
	case ns < 1000:
		return fmt.Sprintf("%.4gns", ns)
	}
	return time.Duration(ns).Round(10 * time.Nanosecond).String()
}

func change(before, after float64) string {
	if before == after {
		return fmt.Sprintf("%.0f", before)
	}
	return fmt.Sprintf("%.0f -> %.0f", before, after)
}
