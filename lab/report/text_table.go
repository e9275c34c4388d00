package report

import (
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
	return w
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
	row := func(cells []cell) {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", w[i]-utf8.RuneCountInString(c.text))
			gap := ""
			if i > 0 {
				gap = strings.Repeat(" ", columnGap)
			}
			text := p.paint(c.style, c.text)
			switch {
			case t.left[i] && i == len(cells)-1:
				b.WriteString(gap + text)
			case t.left[i]:
				b.WriteString(gap + text + pad)
			default:
				b.WriteString(gap + pad + text)
			}
		}
		p.line(strings.TrimRight(b.String(), " "))
	}
	head := make([]cell, len(t.head))
	for i, h := range t.head {
		head[i] = cell{h, bold}
	}
	row(head)
	for _, l := range t.lines {
		if l.cells == nil {
			p.line(p.paint(l.style, l.heading))
			continue
		}
		row(l.cells)
	}
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
