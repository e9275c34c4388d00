package jsonscan

import (
	"errors"
	"strconv"
)

// A Step of a Path is a field of an object, or an element of an array.
type Step struct {
	Name  string
	Index int // unless Name is one: from 0; -1 for a name
}

// A Path leads to a value: a.b[0]["c d"].
type Path []Step

var errPath = errors.New(`want a path such as a.b[0]["c d"]`)

// MaxPath bounds the steps of a path.
const MaxPath = 64

// ParsePath reads a path.
func ParsePath(text string) (Path, error) {
	var p Path
	for rest := text; rest != "" || len(p) == 0; {
		step, size, err := parseStep(rest, len(p) == 0)
		if err != nil || len(p) == MaxPath {
			return nil, errPath
		}
		p, rest = append(p, step), rest[size:]
	}
	return p, nil
}

func parseStep(text string, first bool) (Step, int, error) {
	if text == "" {
		return Step{}, 0, errPath
	}
	if text[0] == '[' {
		return parseIndex(text)
	}
	start := 0
	if !first {
		if text[0] != '.' {
			return Step{}, 0, errPath
		}
		start = 1
	}
	end := start
	for end < len(text) && isName(text[end], end > start) {
		end++
	}
	if end == start {
		return Step{}, 0, errPath
	}
	return Step{Name: text[start:end], Index: -1}, end, nil
}

func isName(c byte, digits bool) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || digits && c >= '0' && c <= '9'
}

func parseIndex(text string) (Step, int, error) {
	if len(text) > 1 && text[1] == '"' {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil || len(text) <= 1+len(quoted) || text[1+len(quoted)] != ']' {
			return Step{}, 0, errPath
		}
		name, err := strconv.Unquote(quoted)
		return Step{Name: name, Index: -1}, len(quoted) + 2, err
	}
	end := 1
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == len(text) || text[end] != ']' {
		return Step{}, 0, errPath
	}
	n, err := strconv.ParseInt(text[1:end], 10, 32)
	return Step{Index: int(n)}, end + 1, err
}

// Get returns the value at the end of path in data, which is a value itself. It returns
// found false, without an error, if there is none, or if what is before it is no JSON.
func Get(data []byte, path Path) (v Value, found bool, err error) {
	v = Value{Raw: data, Kind: Object}
	if len(data) > 0 && data[0] == '[' {
		v.Kind = Array
	}
	for _, step := range path {
		switch {
		case step.Index < 0 && v.Kind == Object:
			v, found, err = field(v.Raw, step.Name)
		case step.Index >= 0 && v.Kind == Array:
			v, found, err = element(v.Raw, step.Index)
		default:
			return Value{}, false, nil
		}
		if !found || err != nil {
			return Value{}, false, err
		}
	}
	return v, true, nil
}

// field returns the first field of an object with a name. Unlike Next it reads over values
// that are none.
func field(data []byte, name string) (v Value, found bool, err error) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end, escaped := stringEnd(data[i+1:])
			if end < 0 {
				return Value{}, false, nil
			}
			key := data[i+1 : i+1+end]
			i += end + 1
			if depth != 1 {
				continue
			}
			s := Scanner{data: data, pos: i + 1}
			if !s.blanks() || data[s.pos] != ':' {
				continue
			}
			if !sameKey(key, escaped, name) {
				i = s.pos
				continue
			}
			s.pos++
			found = s.value(&v)
			return v, found, s.err
		}
	}
	return Value{}, false, nil
}

func sameKey(key []byte, escaped bool, name string) bool {
	if !escaped {
		return string(key) == name
	}
	plain, ok := AppendUnescaped(nil, key)
	return ok && string(plain) == name
}

// element returns an element of an array.
func element(data []byte, index int) (v Value, found bool, err error) {
	s := Scanner{data: data, pos: 1}
	for n := 0; s.blanks() && data[s.pos] != ']'; n++ {
		if !s.value(&v) {
			return Value{}, false, nil
		}
		if n == index {
			return v, true, nil
		}
		if !s.blanks() || data[s.pos] != ',' {
			return Value{}, false, nil
		}
		s.pos++
	}
	return Value{}, false, nil
}
