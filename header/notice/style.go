package notice

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/stele-go/stele/internal/setting"
)

// A commentStyle is one kind of comment of a language.
type commentStyle struct {
	open  string // begins the comment, or each of its lines if close is empty
	close string
	lead  string // begins each line between open and close
	nests bool   // an open inside needs a close of its own
	not   string // open followed by one of these bytes is a pragma, not a comment
	never string // must not occur in a text, besides open and close: "--" in XML
	fold  bool   // open is a word in any case
}

// raw is the style of files without comments: the text as it is.
var raw = commentStyle{}

func (c commentStyle) block() bool { return c.close != "" }
func (c commentStyle) raw() bool   { return c.open == "" }

// name returns the style as Options.Styles has it.
func (c commentStyle) name() string {
	switch {
	case c.raw():
		return "none"
	case c.block():
		return c.open + " " + strings.TrimSpace(c.close)
	}
	return c.open
}

// parseStyle parses "none", the beginning of each line, or an opening and a
// closing mark.
func parseStyle(s string) (commentStyle, error) {
	words := strings.Fields(s)
	switch {
	case len(words) == 1 && words[0] == "none":
		return raw, nil
	case len(words) == 1:
		return commentStyle{open: words[0]}, nil
	case len(words) == 2 && strings.HasSuffix(words[0], "*"):
		return commentStyle{open: words[0], lead: " *", close: " " + words[1]}, nil
	case len(words) == 2:
		return commentStyle{open: words[0], lead: " ", close: words[1]}, nil
	}
	return raw, setting.Wrong("notice: Options.Styles", s, `the beginning of each line ("#"), an opening and a closing mark ("/* */"), or "none"`)
}

// render returns lines as one comment, without an end of line at its end.
func (c commentStyle) render(lines []string, eol string) ([]byte, error) {
	if c.raw() {
		return []byte(strings.Join(lines, eol)), nil
	}
	text := strings.Join(lines, "\n")
	closing := strings.TrimSpace(c.close)
	for _, bad := range []string{closing, c.never} {
		if bad != "" && strings.Contains(text, bad) {
			return nil, fmt.Errorf("the text contains %q, which a comment of style %s cannot hold", bad, c.name())
		}
	}
	if c.nests && strings.Contains(text, c.open) {
		return nil, fmt.Errorf("the text contains %q, which opens another comment in style %s", c.open, c.name())
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

// opens reports whether src begins with a comment of this style.
func (c commentStyle) opens(src []byte) bool {
	n := len(c.open)
	if c.raw() || len(src) < n {
		return false
	}
	if c.fold {
		// The word must end there.
		return bytes.EqualFold(src[:n], []byte(c.open)) && (len(src) == n || bytes.IndexByte([]byte(" \t\r\n"), src[n]) >= 0)
	}
	if string(src[:n]) != c.open {
		return false
	}
	return len(src) == n || strings.IndexByte(c.not, src[n]) < 0
}

// end returns the length of the block comment that src begins with; ok is
// false if it does not end in src.
func (c commentStyle) end(src []byte) (n int, ok bool) {
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

// words returns the text of a comment without its marks, frames, years and line
// breaks: two comments of one text have the same words in any style.
func (c commentStyle) words(text []byte) string {
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

// years matches a year, or a list or range of years: 2019, 2019-2026, 2019, 2021.
var years = regexp.MustCompile(`\b(?:19|20)\d\d(?:\s*[-–,]\s*(?:19|20)\d\d)*\b`)

// anyYear returns s with one mark for every year, so that texts that differ only
// in their years are equal.
func anyYear(s string) string { return years.ReplaceAllLiteralString(s, "\x00") }
