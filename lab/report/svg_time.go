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

// A timeline shows one experiment over time: panels above each other on one axis.
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
	h := newHistory(res, data, t.Joined)
	for _, p := range []panel{h.latencyPanel(), h.throughputPanel(), h.collectionsPanel(), h.memoryPanel()} {
		t.Panels = append(t.Panels, h.chart(p))
	}
	return t
}

// A history is the spans of all variants, and the figures that scales are made
// from.
type history struct {
	spans                 [][]span // by variant
	x                     scale
	latency, rates, heaps []float64
	gcs                   int64 // the most in a span
}

func newHistory(res *run.Result, data map[string][]*run.Block, windows int) *history {
	h := &history{spans: make([][]span, len(res.Variants)), x: scale{math.Inf(1), math.Inf(-1), false}}
	for i, v := range res.Variants {
		for _, b := range data[v.Name] {
			for _, s := range joined(b, windows) {
				h.add(i, s)
			}
		}
	}
	if h.x.hi <= h.x.lo {
		h.x.hi = h.x.lo + 1
	}
	h.x = h.x.roomLeft()
	return h
}

func (h *history) add(variant int, s span) {
	h.spans[variant] = append(h.spans[variant], s)
	h.x.lo, h.x.hi = min(h.x.lo, s.from), max(h.x.hi, s.to)
	h.latency = append(h.latency, s.mean, s.max)
	if s.rate > 0 {
		h.rates = append(h.rates, s.rate)
	}
	if s.heap > 0 {
		h.heaps = append(h.heaps, s.heap)
	}
	h.gcs = max(h.gcs, s.gcs)
}

// A panel is one figure over the time of the run.
type panel struct {
	title, note string
	height      float64
	axis        bool // has the labels of the time axis
	y           scale
	ticks       int
	label       func(float64) string
	draw        func(s span, at func(float64) float64) []mark
}

func (h *history) latencyPanel() panel {
	y := newScale(h.latency)
	return panel{
		title: "Latency", note: "line: mean of a window; dot: its slowest" + logNote(y), height: 168, y: y, ticks: 4, label: axisTime,
		draw: func(s span, at func(float64) float64) []mark {
			return append(level("level", s.mean, at), level("peak", s.max, at)...)
		},
	}
}

func (h *history) throughputPanel() panel {
	y := zeroScale(h.rates)
	return panel{
		title: "Throughput", note: "operations a second" + logNote(y), height: 120, y: y, ticks: 3, label: axisCount,
		draw: func(s span, at func(float64) float64) []mark { return level("level", s.rate, at) },
	}
}

func (h *history) collectionsPanel() panel {
	note := "finished in a window"
	if h.gcs == 0 {
		note = "none finished in any block"
	}
	return panel{
		title: "Garbage collections", note: note, height: 74, y: scale{0, float64(max(h.gcs, 1)) * 1.1, false}, ticks: int(min(max(h.gcs, 1), 2)), label: axisCount,
		draw: func(s span, at func(float64) float64) []mark {
			if s.gcs == 0 {
				return nil
			}
			return []mark{{"bar", at(float64(s.gcs)), true}}
		},
	}
}

func (h *history) memoryPanel() panel {
	note := "heap in use at the end of a window"
	// The axis counts in its unit, so that its levels are round in it.
	u := byteUnits[len(byteUnits)-1]
	if len(h.heaps) == 0 {
		note = "not recorded"
	} else {
		u = unitFor(slices.Max(h.heaps), byteUnits)
	}
	heaps := make([]float64, len(h.heaps))
	for i, x := range h.heaps {
		heaps[i] = x / u.size
	}
	return panel{
		title: "Memory", note: note, height: 104, axis: true, y: zeroScale(heaps), ticks: 3,
		label: func(x float64) string { return trimZeros(digits(x)) + " " + u.name },
		draw:  func(s span, at func(float64) float64) []mark { return level("level", s.heap/u.size, at) },
	}
}

// chart draws a panel.
func (h *history) chart(pl panel) chart {
	const top, axisHeight = 16.0, 22.0
	full, bottom := pl.height, pl.height-4
	runUnit := unit{1e9, "s"}
	if h.x.hi-h.x.lo > 300e9 {
		runUnit = unit{60e9, "min"}
	}
	var ticks func(float64) string
	if pl.axis {
		full += axisHeight
		ticks = func(v float64) string { return trimZeros(fmt.Sprintf("%.2f", v)) + " " + runUnit.name }
	}
	p := newPicture("plot", full, pl.title+" over the run", pl.note)
	p.xAxis(scale{h.x.lo / runUnit.size, h.x.hi / runUnit.size, false}, top, bottom, 6, ticks)
	labels := p.yAxis(pl.y, top, bottom, pl.ticks, pl.label)
	at := func(v float64) float64 { return bottom - pl.y.at(v)*(bottom-top) }
	p.curves(func(c *curves) {
		for i, spans := range h.spans {
			paths := map[string]*strings.Builder{}
			var order []string
			for _, s := range spans {
				for _, m := range pl.draw(s, at) {
					if paths[m.class] == nil {
						paths[m.class] = &strings.Builder{}
						order = append(order, m.class)
					}
					m.write(paths[m.class], wide(h.x.at(s.from)), wide(h.x.at(s.to)), bottom)
				}
			}
			for _, class := range order {
				c.path(class+" "+key{i}.Class(), paths[class].String())
			}
		}
	})
	labels()
	return chart{Title: pl.title, Note: pl.note, Picture: p.done()}
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

// level is the mark of a figure, or no mark where it was not seen.
func level(class string, v float64, at func(float64) float64) []mark {
	if !known(v) || v <= 0 {
		return nil
	}
	return []mark{{class, at(v), false}}
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
