package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// timePoints bounds the points of one panel over all variants: beyond it
// neighbouring windows of a block are joined.
const timePoints = 1200

// A timeline is what happened over one experiment: panels above each other
// on one axis of time.
type timeline struct {
	Panels []chart
	Joined int // windows in one point
}

// A span is one stretch of a block on the time axis of the run.
type span struct {
	from, to  float64 // ns since the run started
	mean, max float64
	rate      float64 // operations a second
	heap      float64
	gcs       int64
}

func newTimeline(res *run.Result) *timeline {
	data := timedBlocks(res)
	windows := 0
	for _, blocks := range data {
		for _, b := range blocks {
			windows += len(b.Windows)
		}
	}
	if windows == 0 {
		return nil
	}
	t := &timeline{Joined: (windows + timePoints - 1) / timePoints}
	spans := make([][]span, len(res.Variants))
	x := scale{math.Inf(1), math.Inf(-1), false}
	var latency, rates, heaps []float64
	var most int64
	for i, v := range res.Variants {
		for _, b := range data[v.Name] {
			for _, s := range joined(b, t.Joined) {
				spans[i] = append(spans[i], s)
				x.lo, x.hi = min(x.lo, s.from), max(x.hi, s.to)
				latency = append(latency, s.mean, s.max)
				if s.rate > 0 {
					rates = append(rates, s.rate)
				}
				if s.heap > 0 {
					heaps = append(heaps, s.heap)
				}
				most = max(most, s.gcs)
			}
		}
	}
	if x.hi <= x.lo {
		x.hi = x.lo + 1
	}
	x = x.roomLeft()
	runUnit := unit{1e9, "s"}
	if x.hi-x.lo > 300e9 {
		runUnit = unit{60e9, "min"}
	}
	axis := scale{x.lo / runUnit.size, x.hi / runUnit.size, false}
	panel := func(title, note string, height float64, last bool, y scale, n int, label func(float64) string, draw func(s span, at func(float64) float64) []mark) {
		full := height
		if last {
			full += 22
		}
		const top = 16.0
		bottom := height - 4
		p := newPicture("plot", full, title+" over the run", note)
		var ticks func(float64) string
		if last {
			ticks = func(v float64) string { return trimZeros(fmt.Sprintf("%.2f", v)) + " " + runUnit.name }
		}
		p.xAxis(axis, top, bottom, 6, ticks)
		labels := p.yAxis(y, top, bottom, n, label)
		at := func(v float64) float64 { return bottom - y.at(v)*(bottom-top) }
		p.curves(func(c *curves) {
			for i := range res.Variants {
				paths := map[string]*strings.Builder{}
				var order []string
				for _, s := range spans[i] {
					for _, m := range draw(s, at) {
						if paths[m.class] == nil {
							paths[m.class] = &strings.Builder{}
							order = append(order, m.class)
						}
						m.write(paths[m.class], wide(x.at(s.from)), wide(x.at(s.to)), bottom)
					}
				}
				for _, class := range order {
					c.path(class+" "+key{i}.Class(), paths[class].String())
				}
			}
		})
		labels()
		t.Panels = append(t.Panels, chart{Title: title, Note: note, Picture: p.done()})
	}
	level := func(class string, v float64, at func(float64) float64) []mark {
		if !known(v) || v <= 0 {
			return nil // not seen
		}
		return []mark{{class, at(v), false}}
	}
	panel("Latency", "line: mean of a window; dot: its slowest"+logNote(newScale(latency)), 168, false, newScale(latency), 4, axisTime,
		func(s span, at func(float64) float64) []mark {
			return append(level("level", s.mean, at), level("peak", s.max, at)...)
		})
	panel("Throughput", "operations a second"+logNote(zeroScale(rates)), 120, false, zeroScale(rates), 3, axisCount,
		func(s span, at func(float64) float64) []mark { return level("level", s.rate, at) })
	note := "finished in a window"
	if most == 0 {
		note = "none finished in any block"
	}
	panel("Garbage collections", note, 74, false, scale{0, float64(max(most, 1)) * 1.1, false}, int(min(max(most, 1), 2)), axisCount,
		func(s span, at func(float64) float64) []mark {
			if s.gcs == 0 {
				return nil
			}
			return []mark{{"bar", at(float64(s.gcs)), true}}
		})
	note = "heap in use at the end of a window"
	if len(heaps) == 0 {
		note = "not recorded"
	}
	// The axis counts in its unit, so that its levels are round in it.
	u := byteUnits[len(byteUnits)-1]
	if len(heaps) > 0 {
		u = unitFor(slices.Max(heaps), byteUnits)
	}
	for i := range heaps {
		heaps[i] /= u.size
	}
	panel("Memory", note, 104, true, zeroScale(heaps), 3, func(x float64) string { return trimZeros(digits(x)) + " " + u.name },
		func(s span, at func(float64) float64) []mark { return level("level", s.heap/u.size, at) })
	return t
}

func logNote(s scale) string {
	if s.log {
		return "; logarithmic"
	}
	return ""
}

// A mark is a level over a span, a dot in its middle, or a bar from the
// bottom.
type mark struct {
	class string
	y     float64
	bar   bool
}

func (m mark) write(b *strings.Builder, from, to, bottom float64) {
	mid := num((from + to) / 2)
	switch {
	case m.bar:
		fmt.Fprintf(b, "M%s %sV%s", mid, num(bottom), num(m.y))
	case m.class == "peak":
		fmt.Fprintf(b, "M%s %sh0", mid, num(m.y)) // a round cap makes it a dot
	default:
		fmt.Fprintf(b, "M%s %sH%s", num(from), num(m.y), num(max(to, from+.6)))
	}
}

// joined cuts a block into spans of n windows.
func joined(b *run.Block, n int) []span {
	var out []span
	for i := 0; i < len(b.Windows); i += n {
		ws := b.Windows[i:min(i+n, len(b.Windows))]
		var s span
		var ops int64
		var length run.Nanos
		s.from = float64(b.Start + ws[0].At)
		for _, w := range ws {
			s.to = max(s.to, float64(b.Start+w.At+w.Len))
			s.mean += w.Mean * float64(w.Ops)
			s.max = max(s.max, w.Max)
			s.heap = max(s.heap, float64(w.Heap))
			s.gcs += w.GCs
			ops += w.Ops
			length += w.Len
		}
		if ops > 0 {
			s.mean /= float64(ops)
		}
		if length > 0 {
			s.rate = float64(ops) / (float64(length) / 1e9)
		}
		out = append(out, s)
	}
	return out
}

func axisCount(x float64) string {
	switch {
	case x >= 1e9:
		return trimZeros(digits(x/1e9)) + " G"
	case x >= 1e6:
		return trimZeros(digits(x/1e6)) + " M"
	case x >= 1e3:
		return trimZeros(digits(x/1e3)) + " k"
	}
	return trimZeros(digits(x))
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
