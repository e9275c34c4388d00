package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error tells what is wrong with a query, and where.
type Error struct {
	// Query is the whole text; "" if whoever made the error had only a tree. See In.
	Query string
	Range // of Query that is wrong; empty at its end where something is missing
	// Msg says what is wrong: unexpected ")".
	Msg string
	// Want says what would be right: a duration. It may be empty.
	Want string
}

// Errorf returns an error about the part of a query at place. In adds the text.
func Errorf(place Range, format string, args ...any) *Error {
	return &Error{Range: place, Msg: fmt.Sprintf(format, args...)}
}

// In returns e with the text of the query, unless it has one.
func (e *Error) In(query string) *Error {
	if e.Query != "" {
		return e
	}
	c := *e
	c.Query = query
	return &c
}

// Error returns one line: parse error at line 1, col 17: unexpected ")", want a duration.
func (e *Error) Error() string {
	b := []byte("parse error")
	if e.Query != "" {
		line, col := e.LineColumn()
		b = fmt.Appendf(b, " at line %d, col %d", line, col)
	}
	b = append(append(b, ": "...), e.Msg...)
	if e.Want != "" {
		b = append(append(b, ", want "...), e.Want...)
	}
	return string(b)
}

// LineColumn returns where the error is, from 1; a column is a character.
func (e *Error) LineColumn() (line, col int) {
	before := e.Query[:e.start()]
	first := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[first:]) + 1
}

func (e *Error) start() int { return min(max(e.Start, 0), len(e.Query)) }

// caretWidth bounds the characters of the line that Caret shows on either side of
// the place.
const caretWidth = 60

// Caret returns the line of the query that has the error and a second one with a caret
// below the place. Of a long line it is the part around the place. It is "" if the
// error has no query.
func (e *Error) Caret() string {
	if e.Query == "" {
		return ""
	}
	start := e.start()
	first := strings.LastIndexByte(e.Query[:start], '\n') + 1
	last := len(e.Query)
	if i := strings.IndexByte(e.Query[start:], '\n'); i >= 0 {
		last = start + i
	}
	before, from := lastRunes(e.Query[first:start], caretWidth)
	marked := min(max(e.End, start), last) - start
	after, to := firstRunes(e.Query[start:last], max(caretWidth, 0))
	carets := max(1, utf8.RuneCountInString(after[:min(marked, len(after))]))
	blanks := utf8.RuneCountInString(before)
	if from {
		before, blanks = "..."+before, blanks+3
	}
	if to {
		after += "..."
	}
	return oneCell(before+after) + "\n" + strings.Repeat(" ", blanks) + strings.Repeat("^", carets)
}

// oneCell makes control characters blanks, so that the caret stands where it should.
func oneCell(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// lastRunes returns the last n runes of s, and whether there are more.
func lastRunes(s string, n int) (string, bool) {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:], i > 0
}

// firstRunes returns the first n runes of s, and whether there are more.
func firstRunes(s string, n int) (string, bool) {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i], i < len(s)
}
