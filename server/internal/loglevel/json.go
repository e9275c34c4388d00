package loglevel

import "bytes"

// maxDepth is how deep objects in objects are looked at.
const maxDepth = 2

// ofJSON returns the first string in p, an object, whose name is that of a level. What is
// not JSON ends the search.
func ofJSON(p []byte) []byte {
	s := scanner{p: p}
	value, _ := s.object(1)
	return value
}

// A scanner walks through JSON.
type scanner struct {
	p  []byte
	at int
}

// object walks through an object. found is the value that is looked for; ok is false at its
// place, and where there is no JSON.
func (s *scanner) object(depth int) (found []byte, ok bool) {
	s.at++ // {
	for {
		if s.space(); s.next() == '}' {
			s.at++
			return nil, true
		}
		name, ok := s.string()
		if s.space(); !ok || s.next() != ':' {
			return nil, false
		}
		s.at++
		s.space()
		switch c := s.next(); {
		case c == '"':
			value, ok := s.string()
			if !ok || isField(name) {
				return value, false
			}
		case c == '{' && depth < maxDepth:
			if found, ok := s.object(depth + 1); !ok {
				return found, false
			}
		case c == '{' || c == '[':
			if !s.skip() {
				return nil, false
			}
		default:
			if !s.literal() {
				return nil, false
			}
		}
		switch s.space(); s.next() {
		case ',':
			s.at++
		case '}':
		default:
			return nil, false
		}
	}
}

// next returns the next character, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.p) {
		return s.p[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.p) && s.p[s.at] <= ' ' {
		s.at++
	}
}

// string returns a string as it is written, without its quotes.
func (s *scanner) string() ([]byte, bool) {
	if s.next() != '"' {
		return nil, false
	}
	from := s.at + 1
	for i := from; i < len(s.p); i++ {
		n := bytes.IndexByte(s.p[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for s.p[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.at = i + 1
			return s.p[from:i], true
		}
	}
	return nil, false
}

// skip skips an object or an array.
func (s *scanner) skip() bool {
	depth := 0
	for s.at < len(s.p) {
		switch s.p[s.at] {
		case '"':
			if _, ok := s.string(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.at++
				return true
			}
		}
		s.at++
	}
	return false
}

// literal skips a number, true, false or null.
func (s *scanner) literal() bool {
	from := s.at
	for s.at < len(s.p) && s.p[s.at] > ' ' && s.p[s.at] != ',' && s.p[s.at] != '}' {
		s.at++
	}
	switch p := s.p[from:s.at]; string(p) {
	case "true", "false", "null":
		return true
	default:
		return len(p) > 0 && (p[0] == '-' || p[0] >= '0' && p[0] <= '9')
	}
}
