package template

import (
	"fmt"
	"math"
	"reflect"
	"time"
)

// What a function makes is bounded before it is made: of a few bytes, fmt and regular
// expressions make gigabytes.

// room returns an error if a text of so many bytes is longer than a template may make.
func (e *Exec) room(bytes int) error {
	if bytes < 0 || bytes > e.t.limit {
		return e.tooLong()
	}
	return nil
}

// An extent is a bound of what fmt writes of a value.
type extent struct {
	bytes  int // of the texts in it, and some for each part
	leaves int // parts, each of which is made as wide as a verb says
}

const partBytes = 40 // of what is no text: a number, a brace, the name of a type

func (x *extent) add(o extent) {
	x.bytes = sum(x.bytes, o.bytes)
	x.leaves = sum(x.leaves, o.leaves)
}

// sum is a + b, of numbers from 0 on; too much is math.MaxInt32, which no limit allows.
func sum(a, b int) int { return min(a+b, math.MaxInt32) }

// times is a * b, as sum is a + b.
func times(a, b int) int {
	if b > 0 && a > math.MaxInt32/b {
		return math.MaxInt32
	}
	return a * b
}

func textExtent(s string) extent { return extent{min(len(s), math.MaxInt32), 1} }

// mapExtent returns the extent of a map. of returns that of a value.
func mapExtent[V any](m map[string]V, of func(V) extent) extent {
	x := extent{partBytes, 1}
	for key, value := range m {
		x.add(extent{partBytes, 0})
		x.add(textExtent(key))
		x.add(of(value))
	}
	return x
}

// extentOf returns a bound of what fmt writes of a value, with the verb v and without flags.
func extentOf(v any) extent {
	switch v := v.(type) {
	case string:
		return textExtent(v)
	case map[string]string:
		return mapExtent(v, textExtent)
	case map[string]any:
		return mapExtent(v, extentOf)
	case []any:
		x := extent{sum(partBytes, len(v)), 1} // a blank behind each
		for _, value := range v {
			x.add(extentOf(value))
		}
		return x
	case float64:
		return extent{350, 1} // 1e308 by %f
	case time.Time:
		return extent{400, 16} // its fields, by a verb for numbers
	case nil, bool, int, int64, int32:
		return extent{80, 1} // by %b
	}
	return otherExtent(reflect.ValueOf(v))
}

// otherExtent is extentOf of what methods of times return.
func otherExtent(v reflect.Value) extent {
	switch {
	case v.CanInt(), v.CanUint():
		return extent{120, 1} // time.Duration, time.Month
	case v.CanFloat(), v.CanComplex():
		return extent{800, 2}
	}
	return extent{1 << 17, 1 << 12} // a *time.Location, by a verb for numbers: each change of the zone
}

// spendArgs counts what a function reads of args, and returns a bound of what fmt.Sprint
// makes of them.
func (e *Exec) spendArgs(args []any) (extent, error) {
	var all extent
	for _, a := range args {
		if all.add(extentOf(a)); all.bytes > maxWork {
			break // spend fails: a large argument that is there often is not read as often
		}
	}
	return all, e.spend(sum(8+16*len(args), times(all.bytes, 2)))
}

// print is a function of fmt or text/template that joins its arguments. Each byte of what
// they are joined to may become most bytes.
func (e *Exec) print(f func(...any) string, most func(string) int) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		all, err := e.spendArgs(args)
		if err != nil {
			return "", err
		}
		bytes := sum(all.bytes, len(args))
		if s, ok := onlyText(args); ok && most != nil {
			bytes = most(s)
		} else if most != nil {
			bytes = times(bytes, mostEscape)
		}
		if all.bytes > smallExtent {
			if err := e.room(bytes); err != nil {
				return "", err
			}
		}
		out := f(args...)
		return out, e.made(out)
	}
}

const (
	mostEscape  = 6       // bytes that an escape makes of one: \u0026
	smallExtent = 1 << 12 // bytes of arguments whose result is small, whatever is done with them
)

func onlyText(args []any) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	s, ok := args[0].(string)
	return s, ok
}

// escaped returns how long s is if each byte for which special holds becomes n bytes.
func escaped(s string, n int, special func(c byte) bool) int {
	size := len(s)
	for i := range len(s) {
		if special(s[i]) {
			size = sum(size, n-1)
		}
	}
	return size
}

func htmlSize(s string) int {
	return escaped(s, 5, func(c byte) bool { return c == '<' || c == '>' || c == '&' || c == '\'' || c == '"' || c == 0 })
}

func jsSize(s string) int {
	return escaped(s, 6, func(c byte) bool {
		return c < ' ' || c >= 0x7f || c == '\\' || c == '\'' || c == '"' || c == '<' || c == '>' || c == '&' || c == '='
	})
}

func querySize(s string) int {
	return escaped(s, 3, func(c byte) bool {
		return c != ' ' && c != '-' && c != '_' && c != '.' && c != '~' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	})
}

func (e *Exec) printf(format string, args ...any) (string, error) {
	if err := e.spend(8 + 2*len(format)); err != nil {
		return "", err
	}
	if _, err := e.spendArgs(args); err != nil {
		return "", err
	}
	if err := e.room(formatBound(format, args)); err != nil {
		return "", err
	}
	out := fmt.Sprintf(format, args...)
	return out, e.made(out)
}
