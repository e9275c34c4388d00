// Package notice finds, places, changes and takes out the notice at the head of
// a source file: a licence, a copyright line, a banner, in the comments of the
// file's language. It works on bytes and reads and writes no file.
//
// A [Plan] decides about one file after the other. What it decides is a
// [Change]: the bytes that the file begins with, and those that take their
// place. After Insert, Remove gives each byte back.
package notice

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// A Verb is what to do about the notice of every file.
type Verb string

const (
	// Insert puts it where none is.
	Insert Verb = "insert"
	// Replace puts it in the place of an older one, or where none is.
	Replace Verb = "replace"
	// Remove takes it out.
	Remove Verb = "remove"
	// Check finds out, and changes nothing.
	Check Verb = "check"
)

// A State is what a file is found or left in.
type State string

const (
	Inserted State = "inserted"
	Replaced State = "replaced"
	Removed  State = "removed"
	Has      State = "has"     // the notice was there already
	Other    State = "other"   // another notice is there, and is left
	Missing  State = "missing" // none is there
	Skipped  State = "skipped" // for the reason that goes with it
)

// Options are what a Plan does.
type Options struct {
	Verb Verb
	// Text is the notice without comment marks, a template of {{.Year}} and
	// {{.File}}. Insert and Replace need it. "" leaves it to Markers or, for
	// Check, to any notice.
	Text string
	// Year is what {{.Year}} becomes. With KeepYears, Replace takes what the
	// old notice says instead, if it says one.
	Year      string
	KeepYears bool
	// Old is a text that Replace takes for the notice, too; "" is none. A
	// template like Text; years do not matter.
	Old string
	// Markers make a comment ours, beside the texts: one that is a notice and
	// has a marker, or else one with a marker that stands apart from the code.
	Markers []string
	// Exact: for Check only the text will do, no marker and no other notice.
	Exact bool
	// Generated: do not leave out generated files.
	Generated bool
	// Styles are comments to write instead of the known ones: "#", "/* */",
	// or "none" for the text as it is; "NAME=STYLE" for one extension (".x") or
	// file name.
	Styles []string
}

// A Plan is what is to be done to every file. Its methods may be called by
// several goroutines at once.
type Plan struct {
	Options
	tmpl    *template.Template // nil where only markers are given
	old     *template.Template // nil without Old
	catalog *catalog
}

// New makes a plan. It refuses a text that is empty or no template, and styles
// that are none.
func New(o Options) (*Plan, error) {
	p := &Plan{Options: o}
	var err error
	if o.Text != "" {
		if p.tmpl, err = parseText(o.Text); err != nil {
			return nil, err
		}
	} else if o.Verb == Insert || o.Verb == Replace {
		return nil, errEmpty
	}
	if o.Old != "" {
		if p.old, err = parseText(o.Old); err != nil {
			return nil, err
		}
	}
	if p.catalog, err = newCatalog(o.Styles); err != nil {
		return nil, err
	}
	return p, nil
}

var errEmpty = errors.New("the text of the header is empty")

// parseText makes a template of the text of a header.
func parseText(text string) (*template.Template, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsAny(text, "\x00\r") {
		return nil, errors.New("the text of the header contains a NUL or a lone carriage return")
	}
	t, err := template.New("header").Parse(text)
	if err != nil {
		return nil, err
	}
	lines, err := textLines(t, "name", "2000")
	if err == nil && strings.TrimSpace(strings.Join(lines, "")) == "" {
		err = errEmpty
	}
	return t, err
}

// textLines fills in the template, and drops empty lines around the text.
func textLines(t *template.Template, name, year string) ([]string, error) {
	var b strings.Builder
	err := t.Execute(&b, struct{ File, Year string }{filepath.Base(name), year})
	if err != nil {
		return nil, err
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, nil
}

// A Change is what a plan means for one file.
type Change struct {
	State  State
	Style  string // how the notice is written, where that is known
	Reason string // why the file is skipped, or what was found
	// New takes the place of Old, with which the file begins. Both are nil
	// where nothing is to be done.
	Old, New []byte
}

func skip(reason string) Change { return Change{State: Skipped, Reason: reason} }

// ErrShort: more of the file must be read to tell.
var ErrShort = errors.New("the comments at its head are too long")

// Decide finds out what to do to the file name that begins with src, or, if
// whole is true, is src. ErrShort asks for more of it. Any other error is one
// of the text, which the comments of this file cannot hold.
func (p *Plan) Decide(name string, src []byte, whole bool) (Change, error) {
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		return skip("UTF-16"), nil
	case bytes.IndexByte(src[:min(len(src), 1024)], 0) >= 0:
		return skip("binary"), nil
	}
	lang := p.catalog.find(name, src)
	if lang == nil {
		return skip("unknown type"), nil
	}
	lang, reason := p.catalog.unsure(name, lang, src)
	if reason != "" {
		return skip(reason), nil
	}
	form := lang.forms[0]
	d := decision{Plan: p, name: name, form: form}
	eol := endOfLine(src)
	var err error
	if d.own, err = d.render(p.tmpl, p.Year, eol); err != nil {
		return Change{Style: form.name()}, err
	}
	d.head = readHead(lang, src, d.own, eol)
	if !whole && d.end > len(src)/2 {
		return Change{Style: form.name()}, ErrShort
	}
	if lang.needs != "" && !bytes.Contains(src[:d.place], []byte(lang.needs)) {
		return skip("does not begin with " + lang.needs), nil
	}
	return d.change()
}

// A decision is about one file.
type decision struct {
	*Plan
	head
	name string
	form comment // to write
	own  []byte  // the text as a comment of this file, nil without
}

func (d *decision) render(text *template.Template, year, eol string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	lines, err := textLines(text, d.name, year)
	if err != nil {
		return nil, err
	}
	return d.form.render(lines, eol)
}

func (d *decision) change() (c Change, err error) {
	c.Style = d.form.name()
	at, is := d.ours()
	if !is && !d.Generated {
		if _, ok := d.find(func(n note) bool { return generated.Match(d.text(n)) }); ok {
			return skip("generated"), nil
		}
	}
	if is {
		return d.changeOurs(c, at)
	}
	other := d.other()
	switch {
	case other != "" && d.own == nil && d.Verb == Check:
		c.State, c.Reason = Has, other
		return c, nil
	case other != "" && !(d.Verb == Check && d.Exact):
		c.State, c.Reason = Other, other
		return c, nil
	}
	c.Reason = other
	if n, ok := d.find(d.marked); ok && other == "" {
		c.Reason = "in a comment of the code: " + d.firstLine(n, 0)
	}
	if d.Verb == Remove || d.Verb == Check {
		c.State = Missing
		return c, nil
	}
	c.State = Inserted
	c.Old, c.New, err = d.insert(d.own, d.form)
	return c, err
}

func (d *decision) changeOurs(c Change, at span) (Change, error) {
	there := d.src[at.from:at.to]
	var err error
	switch d.Verb {
	case Remove:
		c.State = Removed
		c.Old, c.New = d.cut(at, d.form.raw())
	case Replace:
		own := d.own
		if y := years.Find(there); d.KeepYears && y != nil {
			if own, err = d.render(d.tmpl, string(y), d.eol); err != nil {
				return c, err
			}
		}
		if bytes.Equal(own, there) {
			c.State = Has
			return c, nil
		}
		c.State = Replaced
		c.Old, c.New, err = d.put(at, own, d.form)
	case Check:
		if c.State = Has; d.Exact && !d.isText(at) {
			c.State, c.Reason = Missing, "another text"
		}
	default:
		c.State = Has
	}
	return c, err
}

// ours finds the header that the plan is about: the text, years aside, in its
// place or in any comment of the head, else the old text, else a comment with a
// marker. A word may also stand in the documentation of the code, which is no
// header: so a notice goes before, and nothing counts that belongs to the code
// below.
func (d *decision) ours() (span, bool) {
	if n, ok := sameLines(d.src[d.place:], d.own, d.form.block()); ok && !d.goesOn(d.place+n) {
		return span{d.place, d.place + n}, true
	}
	old, err := d.render(d.old, d.Year, d.eol)
	if err != nil {
		old = nil // comments that cannot hold it do not
	}
	for _, text := range [][]byte{d.own, old} {
		if len(text) == 0 || d.form.raw() {
			continue
		}
		words := d.form.words(text)
		if n, ok := d.find(func(n note) bool { return n.form.words(d.text(n)) == words }); ok {
			return n.span, true
		}
	}
	n, ok := d.find(func(n note) bool { return d.marked(n) && legal.Match(d.text(n)) })
	if !ok {
		n, ok = d.find(func(n note) bool { return d.marked(n) && d.apart(n) })
	}
	return n.span, ok
}

// goesOn says whether a line comment to be written, which ends at, is followed
// by more of it: then it is only the beginning of another notice.
func (d *decision) goesOn(at int) bool {
	next := bytes.TrimLeft(d.src[at+endLength(d.src[at:]):], " \t")
	if d.form.block() || !d.form.opens(next) {
		return false
	}
	return !directive.Match(bytes.TrimRight(lineAt(next)[len(d.form.open):], "\r\n"))
}

func (d *decision) marked(n note) bool {
	return slices.ContainsFunc(d.Markers, func(m string) bool { return bytes.Contains(d.text(n), []byte(m)) })
}

// other returns the line of another notice that is a reason to leave a file as
// it is, or "": there is none if markers say what counts, or if the text is no
// notice itself.
func (d *decision) other() string {
	if len(d.Markers) > 0 || d.own != nil && !legal.Match(d.own) {
		return ""
	}
	n, ok := d.find(func(n note) bool { return legal.Match(d.text(n)) })
	if !ok {
		return ""
	}
	return d.firstLine(n, legal.FindIndex(d.text(n))[0])
}

// firstLine is the line of a note from a place in it on.
func (d *decision) firstLine(n note, from int) string {
	return string(bytes.TrimSpace(lineAt(d.text(n)[from:])))
}

// isText says whether what stands at is the text, and not only something with
// a marker.
func (d *decision) isText(at span) bool {
	if _, ok := sameLines(d.src[at.from:at.to], d.own, d.form.block()); ok {
		return true
	}
	n, ok := d.find(func(n note) bool { return n.span == at })
	return ok && n.form.words(d.text(n)) == d.form.words(d.own)
}

// errGlued: code stands where a line comment would have to end.
func errGlued(form comment) error {
	return fmt.Errorf("code follows on the line where the header would end, so a comment that begins with %s would hide it; give --style one with an end", form.name())
}
