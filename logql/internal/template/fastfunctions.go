package template

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A fastFunction is a function of functions() that a program may call. params has a param for
// each argument.
type fastFunction struct {
	params string
	of     func(args []operand) (operand, bool)
}

// fastFunctions count their work as functions() do, so that both end at the same bounds.
var fastFunctions = map[string]fastFunction{
	"__line__": {"", source(func(e *Exec) string { return view(e.env.Line()) })},
	"__timestamp__": {"", func([]operand) (operand, bool) {
		return momentOperand(func(e *Exec) (time.Time, bool) { return time.Unix(0, e.env.Time()).UTC(), true }), true
	}},
	"ToUpper": {"s", changed(upper)}, "upper": {"s", changed(upper)},
	"ToLower": {"s", changed(lower)}, "lower": {"s", changed(lower)},
	"TrimSpace": {"s", cut(strings.TrimSpace)}, "trim": {"s", cut(strings.TrimSpace)},
	"Trim": {"ss", cut2(strings.Trim)}, "TrimLeft": {"ss", cut2(strings.TrimLeft)}, "TrimRight": {"ss", cut2(strings.TrimRight)},
	"TrimPrefix": {"ss", cut2(strings.TrimPrefix)}, "TrimSuffix": {"ss", cut2(strings.TrimSuffix)},
	"trimAll":    {"ss", cut2(func(c, s string) string { return strings.Trim(s, c) })},
	"trimPrefix": {"ss", cut2(func(c, s string) string { return strings.TrimPrefix(s, c) })},
	"trimSuffix": {"ss", cut2(func(c, s string) string { return strings.TrimSuffix(s, c) })},
	"trunc":      {"ns", fastTrunc}, "substr": {"nns", fastSubstr},
	"alignLeft": {"ns", align(false)}, "alignRight": {"ns", align(true)},
	"replace": {"sss", fastReplace}, "Replace": {"sssn", fastReplaceN},
	"default": {"ss", fastDefault},

	"contains":  {"ss", test(func(e *Exec, part, s string) (bool, bool) { return strings.Contains(s, part), e.spend(8+len(s)) == nil })},
	"hasPrefix": {"ss", test(func(_ *Exec, part, s string) (bool, bool) { return strings.HasPrefix(s, part), true })},
	"hasSuffix": {"ss", test(func(_ *Exec, part, s string) (bool, bool) { return strings.HasSuffix(s, part), true })},
	"eq":        {"ss", test(func(_ *Exec, a, b string) (bool, bool) { return a == b, true })},
	"ne":        {"ss", test(func(_ *Exec, a, b string) (bool, bool) { return a != b, true })},

	"date": {"st", fastDate}, "unixToTime": {"s", fastUnixToTime},
	"unixEpoch":       {"t", epoch(time.Time.Unix)},
	"unixEpochMillis": {"t", epoch(time.Time.UnixMilli)},
	"unixEpochNanos":  {"t", epoch(time.Time.UnixNano)},
}

func source(f func(e *Exec) string) func([]operand) (operand, bool) {
	return func([]operand) (operand, bool) {
		return textOperand(func(e *Exec) (string, bool) { return f(e), true }), true
	}
}

// changed is of a function that appends a text to e.scratch, or returns it.
func changed(f func(e *Exec, s string) (string, bool)) func([]operand) (operand, bool) {
	return func(args []operand) (operand, bool) {
		arg := args[0].text
		return textOperand(func(e *Exec) (string, bool) {
			s, ok := arg(e)
			if !ok || e.spend(8+len(s)) != nil {
				return "", false
			}
			return f(e, s)
		}), true
	}
}

// cut is of a function that returns a part of its argument.
func cut(f func(s string) string) func([]operand) (operand, bool) {
	return changed(func(e *Exec, s string) (string, bool) {
		s = f(s)
		return s, e.made(s) == nil
	})
}

func cut2(f func(a, b string) string) func([]operand) (operand, bool) {
	return func(args []operand) (operand, bool) {
		return textOperand(func(e *Exec) (string, bool) {
			a, b, ok := two(e, args)
			if !ok || e.spend(8+len(a)+len(b)) != nil {
				return "", false
			}
			return f(a, b), true
		}), true
	}
}

func two(e *Exec, args []operand) (a, b string, ok bool) {
	if a, ok = args[0].text(e); ok {
		b, ok = args[1].text(e)
	}
	return a, b, ok
}

func test(f func(e *Exec, a, b string) (bool, bool)) func([]operand) (operand, bool) {
	return func(args []operand) (operand, bool) {
		return truthOperand(func(e *Exec) (bool, bool) {
			a, b, ok := two(e, args)
			if !ok {
				return false, false
			}
			return f(e, a, b)
		}), true
	}
}

func upper(e *Exec, s string) (string, bool) { return mapped(e, s, 'a', 'z', strings.ToUpper) }
func lower(e *Exec, s string) (string, bool) { return mapped(e, s, 'A', 'Z', strings.ToLower) }

// mapped changes the case of the letters from low to high, or calls other if there are more than
// those of ASCII.
func mapped(e *Exec, s string, low, high byte, other func(string) string) (string, bool) {
	if !isASCII(s) {
		s = other(s)
		return s, e.made(s) == nil
	}
	from := len(e.scratch)
	for i := range len(s) {
		c := s[i]
		if c >= low && c <= high {
			c ^= 0x20
		}
		e.scratch = append(e.scratch, c)
	}
	return e.keep(from)
}

func fastTrunc(args []operand) (operand, bool) {
	n, arg := args[0].whole, args[1].text
	return textOperand(func(e *Exec) (string, bool) {
		s, ok := arg(e)
		return trunc(n, s), ok
	}), true
}

func fastSubstr(args []operand) (operand, bool) {
	start, end, arg := args[0].whole, args[1].whole, args[2].text
	return textOperand(func(e *Exec) (string, bool) {
		s, ok := arg(e)
		if !ok || max(start, 0) > len(s) || end >= 0 && end < max(start, 0) {
			return "", false
		}
		return substr(start, end, s), true
	}), true
}

func fastDefault(args []operand) (operand, bool) {
	return textOperand(func(e *Exec) (string, bool) {
		a, b, ok := two(e, args)
		if b == "" {
			b = a
		}
		return b, ok
	}), true
}

func align(right bool) func([]operand) (operand, bool) {
	return func(args []operand) (operand, bool) {
		n, arg := args[0].whole, args[1].text
		return textOperand(func(e *Exec) (string, bool) {
			s, ok := arg(e)
			if !ok || e.spend(8+len(s)) != nil {
				return "", false
			}
			length := utf8.RuneCountInString(s)
			switch {
			case n < 0 || length == n:
				return s, true
			case length > n && right:
				return s[runeAt(s, length-n):], true
			case length > n:
				return s[:runeAt(s, n)], true
			case n > e.t.limit || e.room(len(s)+n-length) != nil || e.spend(8+n-length) != nil:
				return "", false
			}
			return e.padded(s, n-length, right), true
		}), true
	}
}

// padded returns s with blanks at one side.
func (e *Exec) padded(s string, blanks int, before bool) string {
	from := len(e.scratch)
	if before {
		e.pad(blanks)
	}
	e.scratch = append(e.scratch, s...)
	if !before {
		e.pad(blanks)
	}
	return view(e.scratch[from:])
}

func fastReplace(args []operand) (operand, bool) {
	return replaced(args[2].text, args[0].text, args[1].text, -1), true
}

func fastReplaceN(args []operand) (operand, bool) {
	return replaced(args[0].text, args[1].text, args[2].text, args[3].whole), true
}

func replaced(text, old, with func(e *Exec) (string, bool), n int) operand {
	return textOperand(func(e *Exec) (string, bool) {
		s, ok1 := text(e)
		o, ok2 := old(e)
		w, ok3 := with(e)
		if !ok1 || !ok2 || !ok3 || o == "" || e.spend(8+len(s)) != nil { // "" is between any two characters
			return "", false
		}
		count := strings.Count(s, o)
		if n >= 0 {
			count = min(count, n)
		}
		if size := len(s) + count*(len(w)-len(o)); size > e.t.limit || e.spend(size) != nil {
			return "", false
		}
		from := len(e.scratch)
		for range count {
			at := strings.Index(s, o)
			e.scratch = append(append(e.scratch, s[:at]...), w...)
			s = s[at+len(o):]
		}
		e.scratch = append(e.scratch, s...)
		return view(e.scratch[from:]), true
	})
}

func fastDate(args []operand) (operand, bool) {
	layout, moment := args[0].text, args[1].moment
	return textOperand(func(e *Exec) (string, bool) {
		l, ok := layout(e)
		if !ok || e.spend(8+4*len(l)) != nil {
			return "", false
		}
		t, ok := moment(e)
		from := len(e.scratch)
		e.scratch = t.AppendFormat(e.scratch, l)
		return view(e.scratch[from:]), ok
	}), true
}

func fastUnixToTime(args []operand) (operand, bool) {
	text := args[0].text
	return momentOperand(func(e *Exec) (time.Time, bool) {
		s, ok := text(e)
		if !ok {
			return time.Time{}, false
		}
		t, err := unixToTime(s)
		return t, err == nil
	}), true
}

func epoch(of func(time.Time) int64) func([]operand) (operand, bool) {
	return func(args []operand) (operand, bool) {
		moment := args[0].moment
		return textOperand(func(e *Exec) (string, bool) {
			t, ok := moment(e)
			from := len(e.scratch)
			e.scratch = strconv.AppendInt(e.scratch, of(t), 10)
			return view(e.scratch[from:]), ok
		}), true
	}
}
