package template

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/stele-go/stele/logql/internal/units"
)

// functions returns what templates may call. The names and what they do are from the
// documentation of Loki; those in lower case are of the library sprig.
func (e *Exec) functions() template.FuncMap {
	f := template.FuncMap{
		tickName:        e.tick,
		"__line__":      func() string { return view(e.env.Line()) },
		"__timestamp__": func() time.Time { return time.Unix(0, e.env.Time()).UTC() },

		"ToLower": e.of(strings.ToLower), "ToUpper": e.of(strings.ToUpper), "lower": e.of(strings.ToLower), "upper": e.of(strings.ToUpper),
		"title":   e.of(strings.Title), //lint:ignore SA1019 it is what Loki does
		"Replace": func(s, old, with string, n int) (string, error) { return e.replace(s, old, with, n) },
		"replace": func(old, with, s string) (string, error) { return e.replace(s, old, with, -1) },
		"Trim":    e.of2(strings.Trim), "TrimLeft": e.of2(strings.TrimLeft), "TrimRight": e.of2(strings.TrimRight),
		"TrimPrefix": e.of2(strings.TrimPrefix), "TrimSuffix": e.of2(strings.TrimSuffix), "TrimSpace": e.of(strings.TrimSpace), "trim": e.of(strings.TrimSpace),
		"trimAll":    e.of2(func(cut, s string) string { return strings.Trim(s, cut) }),
		"trimPrefix": e.of2(func(cut, s string) string { return strings.TrimPrefix(s, cut) }),
		"trimSuffix": e.of2(func(cut, s string) string { return strings.TrimSuffix(s, cut) }),
		"trunc":      trunc, "substr": substr, "indent": e.indent, "repeat": e.repeat, "alignLeft": e.alignLeft, "alignRight": e.alignRight,
		"nindent": func(n int, s string) (string, error) {
			s, err := e.indent(n, s)
			return "\n" + s, err
		},
		"contains":  e.contains,
		"hasPrefix": func(part, s string) bool { return strings.HasPrefix(s, part) },
		"hasSuffix": func(part, s string) bool { return strings.HasSuffix(s, part) },

		"regexReplaceAll": e.regexReplaceAll, "regexReplaceAllLiteral": e.regexReplaceAllLiteral, "count": e.count,

		"urlencode": e.sized(url.QueryEscape, querySize), "urldecode": e.urldecode,
		"b64enc":   e.sized(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, func(s string) int { return base64.StdEncoding.EncodedLen(len(s)) }),
		"b64dec":   e.of(b64dec),
		"fromJson": e.fromJSON, "default": defaultTo,

		"bytes": sizeOf, "duration": secondsOf, "duration_seconds": secondsOf,

		"print": e.print(fmt.Sprint, nil), "println": e.print(fmt.Sprintln, nil), "printf": e.printf,
		"html": e.print(template.HTMLEscaper, htmlSize), "js": e.print(template.JSEscaper, jsSize), "urlquery": e.print(template.URLQueryEscaper, querySize),
	}
	for name, g := range numberFunctions {
		f[name] = g
	}
	for name, g := range timeFunctions {
		f[name] = g
	}
	f["date"], f["toDateInZone"] = e.date, e.toDateInZone
	return f
}

// sized is of a function of which size tells how long a text it makes.
func (e *Exec) sized(f func(string) string, size func(string) int) func(string) (string, error) {
	return func(s string) (string, error) {
		if err := e.spend(8 + 2*len(s)); err != nil {
			return "", err
		}
		if err := e.room(size(s)); err != nil {
			return "", err
		}
		out := f(s)
		return out, e.made(out)
	}
}

func (e *Exec) contains(part, s string) (bool, error) {
	return strings.Contains(s, part), e.spend(8 + len(s))
}

func (e *Exec) urldecode(s string) (string, error) {
	if err := e.spend(8 + 2*len(s)); err != nil {
		return "", err
	}
	return url.QueryUnescape(s)
}

// of counts what f reads and makes.
func (e *Exec) of(f func(string) string) func(string) (string, error) {
	return func(s string) (string, error) {
		if err := e.spend(8 + len(s)); err != nil {
			return "", err
		}
		out := f(s)
		return out, e.made(out)
	}
}

func (e *Exec) of2(f func(a, b string) string) func(a, b string) (string, error) {
	return func(a, b string) (string, error) {
		if err := e.spend(8 + len(a) + len(b)); err != nil {
			return "", err
		}
		return f(a, b), nil
	}
}

// made counts what a function made.
func (e *Exec) made(s string) error {
	if len(s) > e.t.limit {
		return e.tooLong()
	}
	return e.spend(len(s))
}

func (e *Exec) replace(s, old, with string, n int) (string, error) {
	if err := e.spend(8 + len(s)); err != nil {
		return "", err
	}
	count := strings.Count(s, old)
	if n >= 0 {
		count = min(count, n)
	}
	if size := len(s) + count*(len(with)-len(old)); size > e.t.limit {
		return "", e.tooLong()
	} else if err := e.spend(size); err != nil {
		return "", err
	}
	return strings.Replace(s, old, with, n), nil
}

// trunc returns the first n bytes of s, or of a number below 0 the last.
func trunc(n int, s string) string {
	switch {
	case n < 0 && len(s)+n > 0:
		return s[len(s)+n:]
	case n >= 0 && len(s) > n:
		return s[:n]
	}
	return s
}

// substr returns s from start to before end, of numbers below 0 from the first or to the last
// byte. As in Loki a start behind the end is an error, of the runtime.
func substr(start, end int, s string) string {
	if end < 0 || end > len(s) {
		end = len(s)
	}
	return s[max(start, 0):end]
}

func (e *Exec) spaces(n int) (string, error) { return e.repeat(n, " ") }

func (e *Exec) repeat(n int, s string) (string, error) {
	if n < 0 {
		return "", errNegative
	}
	if s == "" {
		return "", nil
	}
	if n > e.t.limit/len(s) {
		return "", e.tooLong()
	}
	if err := e.spend(8 + n*len(s)); err != nil {
		return "", err
	}
	return strings.Repeat(s, n), nil
}

func (e *Exec) indent(n int, s string) (string, error) {
	pad, err := e.spaces(n)
	if err != nil {
		return "", err
	}
	s, err = e.replace(s, "\n", "\n"+pad, -1)
	if err == nil {
		err = e.room(len(s) + len(pad))
	}
	if err != nil {
		return "", err
	}
	return pad + s, nil
}

// alignLeft makes s n characters long, by blanks on its right, or leaving out its last
// characters.
func (e *Exec) alignLeft(n int, s string) (string, error) {
	if err := e.spend(8 + len(s)); err != nil {
		return "", err
	}
	length := utf8.RuneCountInString(s)
	if n < 0 || length == n {
		return s, nil
	}
	if length > n {
		return s[:runeAt(s, n)], nil
	}
	pad, err := e.spaces(n - length)
	if err == nil {
		err = e.room(len(s) + len(pad))
	}
	if err != nil {
		return "", err
	}
	return s + pad, nil
}

// alignRight makes s n characters long, by blanks on its left, or leaving out its first
// characters.
func (e *Exec) alignRight(n int, s string) (string, error) {
	if err := e.spend(8 + len(s)); err != nil {
		return "", err
	}
	length := utf8.RuneCountInString(s)
	if n < 0 || length == n {
		return s, nil
	}
	if length > n {
		return s[runeAt(s, length-n):], nil
	}
	pad, err := e.spaces(n - length)
	if err == nil {
		err = e.room(len(s) + len(pad))
	}
	if err != nil {
		return "", err
	}
	return pad + s, nil
}

// runeAt returns the index of the n-th character.
func runeAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func b64dec(s string) string {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// fromJSON returns what a text in JSON says, nil if it is none.
func (e *Exec) fromJSON(s string) (any, error) {
	if err := e.spend(64 + 16*len(s)); err != nil {
		return nil, err
	}
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return nil, nil
	}
	return v, nil
}

func defaultTo(value any, given ...any) any {
	if len(given) == 0 {
		return value
	}
	if truth, _ := template.IsTrue(given[0]); !truth {
		return value
	}
	return given[0]
}

func sizeOf(s string) (float64, error) {
	n, ok := units.Bytes([]byte(s))
	if !ok {
		return 0, fmt.Errorf("%s", units.BytesProblem([]byte(s)))
	}
	return float64(n), nil
}

func secondsOf(s string) (float64, error) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err
}
