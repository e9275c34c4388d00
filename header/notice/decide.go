package notice

import (
	"bytes"
	"fmt"
	"slices"
	"text/template"
)

// A decision is what an Editor decides on one file.
type decision struct {
	*Editor
	head
	name   string
	style  commentStyle // of the notice to write
	notice []byte       // Options.Text as a comment of this file, nil without a text
}

// render returns a text as a comment of this file, nil for no text.
func (d *decision) render(text *template.Template, year, eol string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	lines, err := textLines(text, d.name, year)
	if err != nil {
		return nil, err
	}
	return d.style.render(lines, eol)
}

func (d *decision) change() (c Change, err error) {
	c.Style = d.style.name()
	at, ok := d.ours()
	if ok {
		return d.changeOurs(c, at)
	}
	if _, ok := d.find(func(n comment) bool { return generated.Match(d.text(n)) }); ok && !d.o.Generated {
		return skip("generated"), nil
	}
	other := d.other()
	switch {
	case other != "" && d.notice == nil && d.o.Action == Check:
		c.State, c.Reason = Present, other
		return c, nil
	case other != "" && !(d.o.Action == Check && d.o.Exact):
		c.State, c.Reason = Other, other
		return c, nil
	}
	c.Reason = other
	if n, ok := d.find(d.marked); ok && other == "" {
		c.Reason = "in a comment of the code: " + d.firstLine(n, 0)
	}
	if d.o.Action == Remove || d.o.Action == Check {
		c.State = Missing
		return c, nil
	}
	c.State = Inserted
	c.Old, c.New, err = d.insert(d.notice, d.style)
	return c, err
}

// changeOurs is change for a file whose notice is at a span.
func (d *decision) changeOurs(c Change, at span) (Change, error) {
	var err error
	switch d.o.Action {
	case Remove:
		c.State = Removed
		c.Old, c.New = d.remove(at, d.style.raw())
	case Replace:
		old, notice := d.src[at.from:at.to], d.notice
		if y := years.Find(old); d.o.KeepYears && y != nil {
			if notice, err = d.render(d.tmpl, string(y), d.eol); err != nil {
				return c, err
			}
		}
		if bytes.Equal(notice, old) {
			c.State = Present
			return c, nil
		}
		c.State = Replaced
		c.Old, c.New, err = d.replace(at, notice, d.style)
	case Check:
		if c.State = Present; d.o.Exact && !d.isText(at) {
			c.State, c.Reason = Missing, "another text"
		}
	default:
		c.State = Present
	}
	return c, err
}

// ours finds the editor's notice: the text, whatever its years, at the start or
// in any comment of the head; else the old text; else a comment with a marker.
// A marker may also be a word of the code's documentation. So a legal notice
// with a marker comes first, and other comments count only apart from the code.
func (d *decision) ours() (span, bool) {
	if n, ok := sameLines(d.src[d.start:], d.notice, d.style.block()); ok && !d.continues(d.start+n) {
		return span{d.start, d.start + n}, true
	}
	old, err := d.render(d.old, d.o.Year, d.eol)
	if err != nil {
		old = nil // a style that cannot hold the text has no comment with it
	}
	for _, text := range [][]byte{d.notice, old} {
		if len(text) == 0 || d.style.raw() {
			continue
		}
		words := d.style.words(text)
		if n, ok := d.find(func(n comment) bool { return n.style.words(d.text(n)) == words }); ok {
			return n.span, true
		}
	}
	n, ok := d.find(func(n comment) bool { return d.marked(n) && legal.Match(d.text(n)) })
	if !ok {
		n, ok = d.find(func(n comment) bool { return d.marked(n) && d.apart(n) })
	}
	return n.span, ok
}

// continues reports whether the line comment that ends at an offset goes on
// below it: then it is only the beginning of another notice.
func (d *decision) continues(at int) bool {
	next := bytes.TrimLeft(d.src[at+endLength(d.src[at:]):], " \t")
	if d.style.block() || !d.style.opens(next) {
		return false
	}
	return !directive.Match(bytes.TrimRight(lineAt(next)[len(d.style.open):], "\r\n"))
}

func (d *decision) marked(n comment) bool {
	return slices.ContainsFunc(d.o.Markers, func(m string) bool { return bytes.Contains(d.text(n), []byte(m)) })
}

// other returns the line of another legal notice that keeps the file as it is,
// or "". Markers overrule it, and a text that is no legal notice stands beside
// one.
func (d *decision) other() string {
	if len(d.o.Markers) > 0 || d.notice != nil && !legal.Match(d.notice) {
		return ""
	}
	n, ok := d.find(func(n comment) bool { return legal.Match(d.text(n)) })
	if !ok {
		return ""
	}
	return d.firstLine(n, legal.FindIndex(d.text(n))[0])
}

// firstLine returns the first line of a comment from an offset on.
func (d *decision) firstLine(n comment, from int) string {
	return string(bytes.TrimSpace(lineAt(d.text(n)[from:])))
}

// isText reports whether the comment at a span is the text, and not only a
// comment with a marker.
func (d *decision) isText(at span) bool {
	if _, ok := sameLines(d.src[at.from:at.to], d.notice, d.style.block()); ok {
		return true
	}
	n, ok := d.find(func(n comment) bool { return n.span == at })
	return ok && n.style.words(d.text(n)) == d.style.words(d.notice)
}

// errGlued is the error for code on the line on which a line comment would end.
func errGlued(style commentStyle) error {
	return fmt.Errorf("code follows on the line where the notice ends, so a comment that begins with %s would hide it; want a style with an end, such as /* */", style.name())
}
