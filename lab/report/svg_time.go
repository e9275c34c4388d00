package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// timePoints bounds the points of one panel of all variants together: beyond it
// neighbouring windows of a block are joined.
const timePoints = 1200

// A timeline shows one variant over time: panels above each other on one axis, which is
// the time spent in the variant's blocks, one block after the other. On the time of the
// run each block would be a sliver between those of the other variants.
type timeline struct {
	Key    key
	Name   string
	Panels []chart
	Joined int // windows in one point
}

// A span is one stretch of a block on the axis.
type span struct {
	from, to  float64 // ns
	mean, max float64
	rate      float64 // operations a second
	heap, rss float64
	unwritten float64
	gcs       int64
}

func newTimelines(res *run.Result) []timeline {
	data := timedBlocks(res)
	windows := 0
	for _, blocks := range data {
		for _, b := range blocks {
			windows += len(b.Windows)
		}
	}
	joined := (windows + timePoints - 1) / timePoints
	var out []timeline
	for _, i := range variantOrder(res) {
		v := &res.Variants[i]
		h := newHistory(key{i}, clean(v.Name), data[v.Name], joined)
		if h == nil {
			continue
		}
		t := timeline{Key: key{i}, Name: h.name, Joined: joined}
		panels := h.panels()
		panels[len(panels)-1].axis = true
		for _, p := range panels {
			t.Panels = append(t.Panels, h.chart(p))
		}
		out = append(out, t)
	}
	return out
}

// A history is the spans of one variant.
type history struct {
	key   key
	name  string
	spans []span
	ends  []float64 // of the blocks
	x     scale
}

// newHistory puts blocks one after the other; nil where they have no windows.
func newHistory(k key, name string, blocks []*run.Block, windows int) *history {
	h := &history{key: k, name: name}
	at := 0.0
	for _, b := range blocks {
		list := joined(b, windows)
		if len(list) == 0 {
			continue
		}
		end := at
		for _, s := range list {
			s.from, s.to = at+s.from, at+s.to
			end = max(end, s.to)
			h.spans = append(h.spans, s)
		}
		at = end
		h.ends = append(h.ends, at)
	}
	if len(h.spans) == 0 {
		return nil
	}
	h.x = scale{0, at, false}.roomLeft()
	return h
}

// figures are one figure of all spans, those that are there.
func (h *history) figures(of func(span) float64) []float64 {
	var out []float64
	for _, s := range h.spans {
		if x := of(s); known(x) && x > 0 {
			out = append(out, x)
		}
	}
	return out
}

// panels are those that have something to show.
func (h *history) panels() []panel {
	out := []panel{h.latencyPanel(), h.throughputPanel()}
	if h.most() > 0 {
		out = append(out, h.collectionsPanel())
	}
	heap, rss, unwritten := func(s span) float64 { return s.heap }, func(s span) float64 { return s.rss }, func(s span) float64 { return s.unwritten }
	memory := h.bytesPanel("Memory", "line: the process's resident memory; dots: heap in use", rss, heap)
	switch {
	case len(h.figures(rss)) == 0 && len(h.figures(heap)) == 0:
	case len(h.figures(rss)) == 0:
		out = append(out, h.bytesPanel("Memory", "heap in use at the end of a window", heap, nil))
	default:
		out = append(out, memory)
	}
	if len(h.figures(unwritten)) > 0 {
		out = append(out, h.bytesPanel("Unwritten pages", "dirty or being written, of the whole machine", unwritten, nil))
	}
	return out
}

// most is the number of collections in the span that has most.
func (h *history) most() int64 {
	most := int64(0)
	for _, s := range h.spans {
		most = max(most, s.gcs)
	}
	return most
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
	y := newScale(append(h.figures(func(s span) float64 { return s.mean }), h.figures(func(s span) float64 { return s.max })...))
	return panel{
		title: "Latency", note: "line: mean of a window; dot: its slowest" + logNote(y), height: 168, y: y, ticks: 4, label: axisTime,
		draw: func(s span, at func(float64) float64) []mark {
			return append(level("level", s.mean, at), level("peak", s.max, at)...)
		},
	}
}

func (h *history) throughputPanel() panel {
	y := zeroScale(h.figures(func(s span) float64 { return s.rate }))
	return panel{
		title: "Throughput", note: "operations a second" + logNote(y), height: 120, y: y, ticks: 3, label: axisCount,
		draw: func(s span, at func(float64) float64) []mark { return level("level", s.rate, at) },
	}
}

func (h *history) collectionsPanel() panel {
	most := h.most()
	return panel{
		title: "Garbage collections", note: "finished in a window", height: 74, y: scale{0, float64(most) * 1.1, false}, ticks: int(min(most, 2)), label: axisCount,
		draw: func(s span, at func(float64) float64) []mark {
			if s.gcs == 0 {
				return nil
			}
			return []mark{{"bar", at(float64(s.gcs)), true}}
		},
	}
}

// bytesPanel draws figures in bytes: one as a line and, where it is not nil, one as dots.
// The axis counts in its unit, so that its levels are round in it.
func (h *history) bytesPanel(title, note string, lines, dots func(span) float64) panel {
	all := h.figures(lines)
	if dots != nil {
		all = append(all, h.figures(dots)...)
	}
	u := byteUnits[len(byteUnits)-1]
	if len(all) > 0 {
		u = unitFor(slices.Max(all), byteUnits)
	}
	for i := range all {
		all[i] /= u.size
	}
	y := scale{0, 1, false}
	if len(all) > 0 {
		y = scale{0, slices.Max(all) * 1.1, false}
	}
	return panel{
		title: title, note: note, height: 104, y: y, ticks: 3,
		label: func(x float64) string { return trimZeros(digits(x)) + " " + u.name },
		draw: func(s span, at func(float64) float64) []mark {
			marks := level("level", lines(s)/u.size, at)
			if dots != nil {
				marks = append(marks, level("peak", dots(s)/u.size, at)...)
			}
			return marks
		},
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
	p := newPicture("plot", full, h.name+": "+pl.title, pl.note)
	p.xAxis(scale{h.x.lo / runUnit.size, h.x.hi / runUnit.size, false}, top, bottom, 6, ticks)
	for _, end := range h.ends[:len(h.ends)-1] {
		p.vline("part", h.x.at(end), top, bottom)
	}
	labels := p.yAxis(pl.y, top, bottom, pl.ticks, pl.label)
	at := func(v float64) float64 { return bottom - pl.y.at(v)*(bottom-top) }
	p.curves(func(c *curves) {
		paths := map[string]*strings.Builder{}
		var order []string
		for _, s := range h.spans {
			for _, m := range pl.draw(s, at) {
				if paths[m.class] == nil {
					paths[m.class] = &strings.Builder{}
					order = append(order, m.class)
				}
				m.write(paths[m.class], wide(h.x.at(s.from)), wide(h.x.at(s.to)), bottom)
			}
		}
		for _, class := range order {
			c.path(class+" "+h.key.Class(), paths[class].String())
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

// joined cuts a block into spans of n windows, in its own time.
func joined(b *run.Block, n int) []span {
	var out []span
	for i := 0; i < len(b.Windows); i += n {
		ws := b.Windows[i:min(i+n, len(b.Windows))]
		var s span
		var ops int64
		var length run.Nanos
		s.from = float64(ws[0].At)
		for _, w := range ws {
			s.to = max(s.to, float64(w.At+w.Len))
			s.mean += w.Mean * float64(w.Ops)
			s.max = max(s.max, w.Max)
			s.heap, s.rss, s.unwritten = max(s.heap, float64(w.Heap)), max(s.rss, float64(w.RSS)), max(s.unwritten, float64(w.Unwritten))
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
