package notice

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// A comment is one form of comment of a language.
type comment struct {
	open  string // begins the comment, or each of its lines where close is empty
	close string
	lead  string // begins each line between open and close
	nests bool   // an open inside needs a close of its own
	not   string // open before one of these is no comment, but a pragma
	never string // must not stand in a text, beside open and close: "--" in XML
	fold  bool   // open is a word that may be written in any case
}

// raw is the form of files that have no comments: the text as it is.
var raw = comment{}

func (c comment) block() bool { return c.close != "" }
func (c comment) raw() bool   { return c.open == "" }

// name is how --style calls it.
func (c comment) name() string {
	switch {
	case c.raw():
		return "none"
	case c.block():
		return c.open + " " + strings.TrimSpace(c.close)
	}
	return c.open
}

// parseComment reads the value of --style: "none", what begins each line, or
// what opens and what closes.
func parseComment(s string) (comment, error) {
	words := strings.Fields(s)
	switch {
	case len(words) == 1 && words[0] == "none":
		return raw, nil
	case len(words) == 1:
		return comment{open: words[0]}, nil
	case len(words) == 2 && strings.HasSuffix(words[0], "*"):
		return comment{open: words[0], lead: " *", close: " " + words[1]}, nil
	case len(words) == 2:
		return comment{open: words[0], lead: " ", close: words[1]}, nil
	}
	return raw, fmt.Errorf("--style %q: want what begins each line ('#'), what opens and closes ('/* */'), or none", s)
}

// render writes lines as one comment, without an end of line at its end.
func (c comment) render(lines []string, eol string) ([]byte, error) {
	if c.raw() {
		return []byte(strings.Join(lines, eol)), nil
	}
	text := strings.Join(lines, "\n")
	closing := strings.TrimSpace(c.close)
	for _, bad := range []string{closing, c.never} {
		if bad != "" && strings.Contains(text, bad) {
			return nil, fmt.Errorf("the text contains %q, which may not stand in a comment of the style %s", bad, c.name())
		}
	}
	if c.nests && strings.Contains(text, c.open) {
		return nil, fmt.Errorf("the text contains %q, which opens one more comment in the style %s", c.open, c.name())
	}
	out := make([]string, 0, len(lines)+2)
	lead := c.open
	if c.block() {
		out = append(out, c.open)
		lead = c.lead
	}
	for _, l := range lines {
		out = append(out, strings.TrimRight(lead+" "+l, " \t"))
	}
	if c.block() {
		out = append(out, c.close)
	}
	return []byte(strings.Join(out, eol)), nil
}

// opens says whether src begins with a comment of this form.
func (c comment) opens(src []byte) bool {
	n := len(c.open)
	if c.raw() || len(src) < n {
		return false
	}
	if c.fold {
		// A word, which must end there.
		return bytes.EqualFold(src[:n], []byte(c.open)) && (len(src) == n || bytes.IndexByte([]byte(" \t\r\n"), src[n]) >= 0)
	}
	if string(src[:n]) != c.open {
		return false
	}
	return len(src) == n || strings.IndexByte(c.not, src[n]) < 0
}

// end returns where the comment that src begins with ends, for a form with a
// close; ok is false when it does not end in src.
func (c comment) end(src []byte) (n int, ok bool) {
	open, closing := []byte(c.open), []byte(strings.TrimSpace(c.close))
	depth := 1
	for n = len(open); n < len(src); {
		switch rest := src[n:]; {
		case bytes.HasPrefix(rest, closing):
			n += len(closing)
			if depth--; depth == 0 {
				return n, true
			}
		case c.nests && bytes.HasPrefix(rest, open):
			n += len(open)
			depth++
		default:
			n++
		}
	}
	return len(src), false
}

// words returns the text of a comment without its marks and frames, years and
// line breaks: what two comments of one text have in common in any form.
func (c comment) words(text []byte) string {
	var b strings.Builder
	s := string(text)
	if c.block() {
		s = strings.TrimPrefix(s, c.open)
		s = strings.TrimSuffix(s, strings.TrimSpace(c.close))
	}
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		if !c.block() && len(l) >= len(c.open) && strings.EqualFold(l[:len(c.open)], c.open) {
			l = l[len(c.open):]
		}
		l = strings.Trim(l, " \t\r\n*/#;-%!|=+")
		for _, w := range strings.Fields(anyYear(l)) {
			b.WriteString(w)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// years is a year, or a list or range of years: 2019, 2019-2026, 2019, 2021.
var years = regexp.MustCompile(`\b(?:19|20)\d\d(?:\s*[-–,]\s*(?:19|20)\d\d)*\b`)

// anyYear returns s with one mark in the place of every year, so that texts
// which differ by their years only become equal.
func anyYear(s string) string { return years.ReplaceAllLiteralString(s, "\x00") }
