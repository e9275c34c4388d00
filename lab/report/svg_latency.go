package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// mostPictures is how many system calls of a variant are drawn.
const mostPictures = 6

// A callPicture is how long the calls of one name took, drawn.
type callPicture struct {
	Call, Note string
	Picture    template.HTML
}

// callPictures draws the variant's own calls that took longest in all. All of
// a variant share one axis, so that they can be compared by eye.
func callPictures(variant string, t *run.VariantTrace) []callPicture {
	var shown []*run.CallLatency
	lo, hi := math.Inf(1), 0.0
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Runtime || len(c.Buckets) == 0 || len(shown) == mostPictures {
			continue
		}
		shown = append(shown, c)
		lo = min(lo, max(float64(c.Buckets[0].From), 1))
		hi = max(hi, float64(c.Buckets[len(c.Buckets)-1].To))
	}
	if len(shown) == 0 {
		return nil
	}
	axis := logScale(lo, hi)
	var out []callPicture
	for _, c := range shown {
		note := fmt.Sprintf("%s, %s in all", units.Count(int(c.Count), "call"), duration(float64(c.Total)))
		out = append(out, callPicture{clean(c.Call), note, latencyPicture(variant, c, axis)})
	}
	return out
}

const latencyHeight = 96

// latencyPicture draws a histogram: the share of the calls in each bucket, the
// median as a line and the 99th percentile as a dashed one.
func latencyPicture(variant string, c *run.CallLatency, axis scale) template.HTML {
	const top, bottom = 6.0, float64(latencyHeight - 20)
	most := int64(1)
	for _, b := range c.Buckets {
		most = max(most, b.Count)
	}
	p := newPicture("plot latency", latencyHeight, fmt.Sprintf("%s: how long %s takes", variant, c.Call),
		fmt.Sprintf("p50 %s, p99 %s, longest %s, %s", callPercentile(c.P50), callPercentile(c.P99), duration(float64(c.Max)), units.Count(int(c.Count), "call")))
	p.xAxis(axis, top, bottom, 3, axisTime)
	for _, b := range c.Buckets {
		if b.Count == 0 {
			continue
		}
		h := float64(b.Count) / float64(most) * (bottom - top)
		p.rect("lat c0", axis.at(max(float64(b.From), 1)), axis.at(float64(b.To)), bottom-max(h, 1), max(h, 1))
	}
	p.hline("grid", 0, 1, bottom)
	if c.P50.Err() == nil {
		p.vline("median", axis.at(c.P50.NS), top, bottom)
	}
	if c.P99.Err() == nil {
		p.vline("one", axis.at(c.P99.NS), top, bottom)
	}
	return p.done()
}

// A chainNode is a link that several chains may share. next are the links that it
// waits for.
type chainNode struct {
	first, second string // lines of text
	class         string
	share         float64
	next          []*chainNode
}

// child is the node of a link, made where it is new.
func (n *chainNode) child(first, second, class string) *chainNode {
	for _, c := range n.next {
		if c.first == first && c.second == second {
			return c
		}
	}
	c := &chainNode{first: first, second: second, class: class}
	n.next = append(n.next, c)
	return c
}

// linkClass gives the ways to spend time their colours.
func linkClass(how string) string {
	switch how {
	case run.HowSyscall:
		return "link c0"
	case run.HowReady:
		return "link c4"
	case run.HowRunning:
		return "link c2"
	}
	return "link c7"
}

// chainTree puts chains with the same beginning together. A call that was seen
// to be blocked goes on to its causes in the kernel.
func chainTree(t *run.VariantTrace) *chainNode {
	root := &chainNode{}
	for _, c := range t.Chains {
		n := root
		n.share += c.Share
		for _, l := range c.Links {
			n = n.child(linkWho(l), linkDoes(l), linkClass(l.How))
			n.share += c.Share
		}
		for _, k := range c.Kernel {
			n.child("kernel", Cause(k.Cause), "link c3").share += c.Share * k.Share
		}
	}
	return root
}

// depth is how many columns the boxes of at least that share take.
func (n *chainNode) depth(least float64) int {
	d := 0
	for _, c := range n.next {
		if c.share >= least {
			d = max(d, 1+c.depth(least))
		}
	}
	return d
}

const (
	chainHeight = 340
	leastHeight = 2.0 // of a box; a lower one is left out
	lineHeight  = 14.0
)

// chainPicture draws the tree from left to right: the height of a box is its
// share of the waiting time, and it waits for the boxes right of it.
func chainPicture(variant string, t *run.VariantTrace) template.HTML {
	root := chainTree(t)
	if root.share <= 0 {
		return ""
	}
	columns := root.depth(leastHeight / chainHeight * root.share)
	desc := ""
	for i, c := range shownChains(t) {
		if i > 0 {
			desc += ". "
		}
		desc += percent(c.Share)
		for _, s := range chainLines(c) {
			desc += ", " + s
		}
	}
	p := newPicture("chain", chainHeight, variant+": chains of waits", desc)
	p.boxes(root, 0, columns, 0, chainHeight/root.share)
	return p.done()
}

// boxes draws the nodes right of a node.
func (p *picture) boxes(n *chainNode, column, columns int, y, scale float64) {
	for _, c := range n.next {
		h := c.share * scale
		if h >= leastHeight {
			p.box(c, float64(column)/float64(columns), 1/float64(columns), y, h)
			p.boxes(c, column+1, columns, y, scale)
		}
		y += h
	}
}

// box draws a node. Its text ends in an ellipsis where the box does; the pointer shows
// it whole.
func (p *picture) box(n *chainNode, x, wide, y, h float64) {
	at := func(share float64) string { return fmt.Sprintf("%.3g%%", share*100) }
	fmt.Fprintf(&p.b, `<svg class="clip" x="%s" y="%s" width="%s" height="%s"><title>%s</title><rect class="%s" width="99.5%%" height="100%%"/>`,
		at(x), num(y), at(wide), num(h-1), esc(percent(n.share)+": "+n.first+", "+n.second), n.class)
	// Text of the page, not of the picture: that can end in an ellipsis.
	lines := []string{percent(n.share) + " " + n.first, n.second}
	if fit := min(len(lines), int(h/lineHeight)); fit > 0 {
		p.b.WriteString(`<foreignObject x="4" y="1" width="97%" height="100%"><div class="link-text">`)
		for _, s := range lines[:fit] {
			fmt.Fprintf(&p.b, `<div>%s</div>`, esc(s))
		}
		p.b.WriteString(`</div></foreignObject>`)
	}
	p.b.WriteString(`</svg>`)
}

// A traceView is the trace of a variant, laid out for the page.
type traceView struct {
	Key        key // of the variant, so that its legend hides it
	Name, Head string
	Chain      template.HTML
	Chains     []chainItem
	Rest       string
	Pictures   []callPicture
	Calls      []callRow
	Gaps       []string
}

type chainItem struct {
	Share string
	Lines []string
}

func traceViews(res *run.Result) []traceView {
	var out []traceView
	for _, i := range variantOrder(res) {
		v := &res.Variants[i]
		if v.Trace == nil {
			continue
		}
		name := clean(v.Name)
		view := traceView{
			Key: key{i}, Name: name, Head: traceHead(v.Trace), Chain: chainPicture(name, v.Trace), Rest: restOfChains(v.Trace),
			Pictures: callPictures(name, v.Trace), Calls: callRows(v.Trace), Gaps: traceGaps(v.Trace),
		}
		for _, c := range shownChains(v.Trace) {
			view.Chains = append(view.Chains, chainItem{percent(c.Share), chainLines(c)})
		}
		out = append(out, view)
	}
	return out
}
