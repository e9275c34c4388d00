package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A style is an ANSI SGR sequence; "" is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
)

// A cell of a text table.
type cell struct {
	text  string
	style style
}

// A line of a text table: cells, or one heading over all columns.
type line struct {
	heading string
	style   style
	cells   []cell
}

// A table lays out columns; the first is aligned left, others as told.
type table struct {
	head  []string
	left  []bool // aligned left
	lines []line
	limit []int // the most columns of each, beyond which a cell is wrapped; nil is no limit
}

const columnGap = 2

// widths is the natural width of each column.
func (t *table) widths() []int {
	w := make([]int, len(t.head))
	for i, h := range t.head {
		w[i] = utf8.RuneCountInString(h)
	}
	for _, l := range t.lines {
		for i, c := range l.cells {
			w[i] = max(w[i], utf8.RuneCountInString(c.text))
		}
	}
	for i, most := range t.limit {
		w[i] = min(w[i], most)
	}
	return w
}

// dropEmpty leaves out the columns, other than the first, in which no row has a text.
func (t *table) dropEmpty() *table {
	for i := len(t.head) - 1; i > 0; i-- {
		if slices.ContainsFunc(t.lines, func(l line) bool { return l.cells != nil && l.cells[i].text != "" }) {
			continue
		}
		t.head, t.left = slices.Delete(slices.Clone(t.head), i, i+1), slices.Delete(slices.Clone(t.left), i, i+1)
		for k, l := range t.lines {
			if l.cells != nil {
				t.lines[k].cells = slices.Delete(l.cells, i, i+1)
			}
		}
	}
	return t
}

// fit leaves a column at least leastColumn wide, and one of names narrowColumn before it
// wraps figures.
const (
	leastColumn  = 12
	narrowColumn = 16
)

// fit wraps cells until the table fits: the widest of the given columns, and the last of
// them only where the others are narrow.
func (t *table) fit(width int, columns ...int) {
	t.limit = nil
	w := t.widths()
	total := -columnGap
	for _, n := range w {
		total += n + columnGap
	}
	widest := func(of []int) int {
		best := of[0]
		for _, i := range of {
			if w[i] > w[best] {
				best = i
			}
		}
		return best
	}
	for ; total > width; total-- {
		at := widest(columns)
		if n := len(columns) - 1; n > 0 && w[widest(columns[:n])] > narrowColumn {
			at = widest(columns[:n])
		}
		if w[at] <= leastColumn {
			break
		}
		w[at]--
	}
	t.limit = w
}

// split cuts the table into several that fit width where one does not: each
// repeats the first column, so that no figure is ever cut off. at is where
// it may be cut.
func (t *table) split(width int, at ...int) []*table {
	w := t.widths()
	total := -columnGap
	for _, n := range w {
		total += n + columnGap
	}
	if total <= width || len(at) == 0 {
		return []*table{t}
	}
	part := func(from, to int) *table {
		p := &table{head: append([]string{t.head[0]}, t.head[from:to]...), left: append([]bool{t.left[0]}, t.left[from:to]...)}
		for _, l := range t.lines {
			n := line{heading: l.heading, style: l.style}
			if l.cells != nil {
				n.cells = append([]cell{l.cells[0]}, l.cells[from:to]...)
				if blank(n.cells[1:]) {
					continue // a row that says nothing in this part
				}
			}
			p.lines = append(p.lines, n)
		}
		return p
	}
	var out []*table
	from := 1
	for _, to := range append(at, len(t.head)) {
		out = append(out, part(from, to))
		from = to
	}
	return out
}

func blank(cells []cell) bool {
	for _, c := range cells {
		if c.text != "" {
			return false
		}
	}
	return true
}

func (t *table) write(p *printer) {
	w := t.widths()
	head := make([]cell, len(t.head))
	for i, h := range t.head {
		head[i] = cell{h, bold}
	}
	if strings.Join(t.head, "") != "" {
		t.row(p, w, head)
	}
	for _, l := range t.lines {
		if l.cells == nil {
			body := strings.TrimLeft(l.heading, " ")
			p.para(strings.Repeat(" ", len(l.heading)-len(body)), l.style, body)
			continue
		}
		t.row(p, w, l.cells)
	}
}

// row writes a row, over several lines where a cell is wider than its column.
func (t *table) row(p *printer, w []int, cells []cell) {
	parts := make([][]string, len(cells))
	high := 1
	for i, c := range cells {
		parts[i] = wrapCell(c.text, w[i])
		high = max(high, len(parts[i]))
	}
	for k := range high {
		var b strings.Builder
		for i, c := range cells {
			text := ""
			if k < len(parts[i]) {
				text = parts[i][k]
			}
			pad := strings.Repeat(" ", max(w[i]-utf8.RuneCountInString(text), 0))
			if i > 0 {
				b.WriteString(strings.Repeat(" ", columnGap))
			}
			switch {
			case t.left[i] && i == len(cells)-1:
				b.WriteString(p.paint(c.style, text))
			case t.left[i]:
				b.WriteString(p.paint(c.style, text) + pad)
			default:
				b.WriteString(pad + p.paint(c.style, text))
			}
		}
		p.line(strings.TrimRight(b.String(), " "))
	}
}

// wrapCell breaks a cell's text at spaces and behind slashes. Its indent stays, and
// continued lines are indented by two columns more.
func wrapCell(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	body := strings.TrimLeft(s, " ")
	indent := strings.Repeat(" ", len(s)-len(body))
	var out []string
	for rest := []rune(body); len(rest) > 0; {
		room := max(width-len(indent), 4)
		if len(rest) <= room {
			return append(out, indent+string(rest))
		}
		cut := room
		for i := room; i > room/3; i-- {
			if rest[i] == ' ' || rest[i-1] == '/' {
				cut = i
				break
			}
		}
		out = append(out, indent+strings.TrimRight(string(rest[:cut]), " "))
		rest = []rune(strings.TrimLeft(string(rest[cut:]), " "))
		if len(out) == 1 {
			indent += "  "
		}
	}
	return out
}

// wrap breaks s into lines of at most width, at spaces. A word that is
// longer stands alone.
func wrap(s string, width int) []string {
	var out []string
	cur := ""
	for _, word := range strings.Fields(s) {
		switch {
		case cur == "":
			cur = word
		case utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) <= width:
			cur += " " + word
		default:
			out = append(out, cur)
			cur = word
		}
	}
	if cur != "" {
		out = append(out, cur)
	}
	return out
}
