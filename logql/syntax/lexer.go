package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind is what a token is.
type kind uint8

const (
	end kind = iota
	identifier
	text     // "a", `a`
	number   // 1, 0x1f, 1e3, .5
	duration // 5m, 1h30m
	size     // 20MB
	flag     // --strict
	symbol   // token.text says which
)

// A token is a word of a query.
type token struct {
	Range
	kind kind
	text string // as the query has it; of a text what it means
}

// word returns the word in lower case, as keywords may have any; "" if t is none.
func (t token) word() string {
	if t.kind != identifier {
		return ""
	}
	return strings.ToLower(t.text)
}

// is reports whether t is the symbol s.
func (t token) is(s string) bool { return t.kind == symbol && t.text == s }

// String names the token in an error.
func (t token) String() string {
	switch t.kind {
	case end:
		return "end of the query"
	case text:
		return "text " + strconv.Quote(shorten(t.text))
	case identifier:
		return "word " + shorten(t.text)
	case number:
		return "number " + shorten(t.text)
	case duration:
		return "duration " + shorten(t.text)
	case size:
		return "size " + shorten(t.text)
	}
	return strconv.Quote(shorten(t.text))
}

// shorten bounds what an error quotes.
func shorten(s string) string {
	if short, more := firstRunes(s, 40); more {
		return short + "..."
	}
	return s
}

// symbols are the longest first of those that begin alike.
var symbols = []string{
	"|=", "|~", "|>", "!=", "!~", "!>", "==", "=~", ">=", "<=",
	"{", "}", "(", ")", "[", "]", ",", "=", "|", ">", "<", "+", "-", "*", "/", "%", "^", ":",
}

// lex splits a query into tokens; the last one is of kind end.
func lex(query string) ([]token, *Error) {
	l := lexer{query: query}
	tokens := make([]token, 0, 8+len(query)/4)
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens, nil
		}
	}
}

type lexer struct {
	query string
	at    int
}

func (l *lexer) wrong(start, end int, msg, want string) *Error {
	return &Error{Query: l.query, Range: Range{start, end}, Msg: msg, Want: want}
}

// next returns the token at l.at, behind blanks and comments.
func (l *lexer) next() (token, *Error) {
	l.skip()
	if l.at == len(l.query) {
		return token{Range: Range{l.at, l.at}, kind: end}, nil
	}
	rest := l.query[l.at:]
	c := rest[0]
	switch {
	case letter(c), c >= utf8.RuneSelf:
		if n := identifierLen(rest); n > 0 {
			return l.take(identifier, n), nil
		}
		return l.unknown()
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		return l.number()
	case c == '"':
		return l.quoted()
	case c == '`':
		return l.raw()
	case strings.HasPrefix(rest, "--") && len(rest) > 2 && letter(rest[2]):
		return l.take(flag, span(rest, 2, func(c byte) bool { return word(c) || c == '-' })), nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			return l.take(symbol, len(s)), nil
		}
	}
	return l.unknown()
}

// take returns the next n bytes as a token.
func (l *lexer) take(k kind, n int) token {
	t := token{Range: Range{l.at, l.at + n}, kind: k, text: l.query[l.at : l.at+n]}
	l.at += n
	return t
}

func (l *lexer) unknown() (token, *Error) {
	r, n := utf8.DecodeRuneInString(l.query[l.at:])
	msg, want := "unexpected "+strconv.QuoteRune(r), ""
	switch r {
	case utf8.RuneError:
		if n == 1 {
			msg = "invalid UTF-8"
		}
	case '\'':
		want = "a text in double quotes or backquotes"
	case '!':
		want = `"!=", "!~" or "!>"`
	case '$':
		want = "a value: variables are replaced before the query is sent"
	}
	return token{}, l.wrong(l.at, l.at+n, msg, want)
}

// skip passes blanks, and comments from # to the end of the line.
func (l *lexer) skip() {
	for l.at < len(l.query) {
		switch l.query[l.at] {
		case ' ', '\t', '\n', '\r':
			l.at++
		case '#':
			i := strings.IndexByte(l.query[l.at:], '\n')
			if i < 0 {
				l.at = len(l.query)
				return
			}
			l.at += i + 1
		default:
			return
		}
	}
}

func (l *lexer) raw() (token, *Error) {
	i := strings.IndexByte(l.query[l.at+1:], '`')
	if i < 0 {
		return token{}, l.wrong(l.at, len(l.query), "text has no end", "\"`\"")
	}
	t := l.take(text, i+2)
	t.text = t.text[1 : i+1]
	return t, nil
}

func (l *lexer) quoted() (token, *Error) {
	rest := l.query[l.at:]
	i := 1
	for i < len(rest) && rest[i] != '"' && rest[i] != '\n' {
		if rest[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(rest) || rest[i] != '"' {
		return token{}, l.wrong(l.at, l.at+min(i, len(rest)), "text has no end", `a double quote`)
	}
	t := l.take(text, i+1)
	value, err := strconv.Unquote(t.text)
	if err != nil {
		at := badEscape(t.text)
		return token{}, l.wrong(t.Start+at, t.End, "invalid escape in a text", `one that Go has, such as \n or \\; a text in backquotes has none`)
	}
	t.text = value
	return t, nil
}

// badEscape returns where in the quoted text s is what strconv.Unquote refuses.
func badEscape(s string) int {
	rest := s[1 : len(s)-1]
	for rest != "" {
		_, _, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			break
		}
		rest = tail
	}
	return len(s) - 1 - len(rest)
}

// number reads a number, a duration or a size.
func (l *lexer) number() (token, *Error) {
	rest := l.query[l.at:]
	n := span(rest, 0, func(c byte) bool { return digit(c) || c == '.' })
	if n < len(rest) && (letter(rest[n]) || rest[n] >= utf8.RuneSelf) {
		n = l.tail(n)
	}
	t := l.take(number, n)
	switch {
	case isNumber(t.text):
	case isDuration(t.text):
		t.kind = duration
	case isSize(t.text):
		t.kind = size
	default:
		return token{}, l.wrong(t.Start, t.End, "unexpected "+strconv.Quote(shorten(t.text)), "a number, a duration such as 1h30m, or a size such as 20MB")
	}
	return t, nil
}

// tail returns the end of a number whose digits end at n, with exponent and units.
func (l *lexer) tail(n int) int {
	rest := l.query[l.at:]
	for n < len(rest) {
		c := rest[n]
		exponent := (c == '+' || c == '-') && (rest[n-1] == 'e' || rest[n-1] == 'E') &&
			!strings.HasPrefix(rest, "0x") && !strings.HasPrefix(rest, "0X") && n+1 < len(rest) && digit(rest[n+1])
		if !word(c) && c != '.' && c < utf8.RuneSelf && !exponent {
			break
		}
		n++
	}
	return n
}

// identifierLen returns the length of the word that s begins with; Loki's words have all
// letters of Unicode.
func identifierLen(s string) int {
	for i, r := range s {
		if r == utf8.RuneError || r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

func span(s string, from int, in func(byte) bool) int {
	for from < len(s) && in(s[from]) {
		from++
	}
	return from
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func word(c byte) bool   { return letter(c) || digit(c) }
