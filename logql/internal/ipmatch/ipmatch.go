// Package ipmatch finds Internet addresses in text, and compares them with a pattern: an
// address, a range from one to another, or a prefix.
package ipmatch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"unsafe"
)

// A Matcher is a compiled pattern. Many goroutines may use one at once.
type Matcher struct {
	from, to netip.Addr   // both included
	prefix   netip.Prefix // if valid
}

var errPattern = errors.New("want an address (10.0.0.1), a range (10.0.0.1-10.0.0.9) or a prefix (10.0.0.0/8)")

// Compile compiles a pattern: 10.0.0.1, 10.0.0.1-10.0.0.9 or 10.0.0.0/8, or the same with
// addresses of IPv6.
func Compile(pattern string) (*Matcher, error) {
	if from, to, ok := strings.Cut(pattern, "-"); ok {
		a, errA := netip.ParseAddr(from)
		b, errB := netip.ParseAddr(to)
		if errA != nil || errB != nil || a.Is4() != b.Is4() || b.Less(a) {
			return nil, fmt.Errorf("ip: %q: %w", pattern, errPattern)
		}
		return &Matcher{from: a, to: b}, nil
	}
	if strings.Contains(pattern, "/") {
		p, err := netip.ParsePrefix(pattern)
		if err != nil {
			return nil, fmt.Errorf("ip: %q: %w", pattern, errPattern)
		}
		return &Matcher{prefix: p.Masked()}, nil
	}
	a, err := netip.ParseAddr(pattern)
	if err != nil {
		return nil, fmt.Errorf("ip: %q: %w", pattern, errPattern)
	}
	return &Matcher{from: a, to: a}, nil
}

func (m *Matcher) contains(a netip.Addr) bool {
	if m.prefix.IsValid() {
		return m.prefix.Contains(a)
	}
	return a.Is4() == m.from.Is4() && !a.Less(m.from) && !m.to.Less(a)
}

// Match reports whether text, which is an address, matches. It returns valid false if it is
// none.
func (m *Matcher) Match(text []byte) (match, valid bool) {
	if !mayBeAddress(text) {
		return false, false
	}
	a, err := netip.ParseAddr(unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		return false, false
	}
	return m.contains(a), true
}

// mayBeAddress keeps most texts from netip, whose errors take memory.
func mayBeAddress(text []byte) bool {
	if len(text) < 2 || len(text) > 64 {
		return false
	}
	dots, colons := 0, 0
	for _, c := range text {
		switch {
		case c == '.':
			dots++
		case c == ':':
			colons++
		case c == '%' && colons > 1:
			return true
		case !isHex(c):
			return false
		}
	}
	if colons == 0 {
		return dots == 3 && fields(text, '.', 3) == 4
	}
	return colons > 1 && (dots > 0 || mayBe6(text))
}

// mayBe6 reports whether text may be an address of IPv6 without one of IPv4 at its end: it
// has eight fields, or fewer and a "::". A time of day, such as 10:00:47, has neither.
func mayBe6(text []byte) bool {
	short := bytes.Contains(text, []byte("::"))
	n := fields(text, ':', 4)
	return n == 8 && !short || n < 8 && short
}

// fields returns how many fields of 1 to most digits there are between separators, a very
// high number if a field has more.
func fields(text []byte, separator byte, most int) int {
	n, digits := 0, 0
	for _, c := range text {
		if c == separator {
			digits = 0
			continue
		}
		if digits++; digits == 1 {
			n++
		}
		if digits > most {
			return math.MaxInt
		}
	}
	return n
}

// MatchIn reports whether an address in line matches.
func (m *Matcher) MatchIn(line []byte) bool {
	for i := 0; i < len(line); {
		if !isAddress(line[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(line) && isAddress(line[end]) {
			end++
		}
		if m.matchRun(line[i:end]) {
			return true
		}
		i = end
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func isAddress(c byte) bool { return c == '.' || c == ':' || isHex(c) }

// matchRun looks for an address in a run of characters that addresses have: with a port behind
// it, too.
func (m *Matcher) matchRun(run []byte) bool {
	if match, valid := m.Match(run); valid {
		return match
	}
	if n := len(run); n > 0 && run[n-1] == ':' && (n < 2 || run[n-2] != ':') {
		return m.matchRun(run[:n-1])
	}
	return m.match4(run)
}

// match4 looks for addresses of IPv4 in a run.
func (m *Matcher) match4(run []byte) bool {
	for i := 0; i < len(run); {
		end := i
		for end < len(run) && (run[end] == '.' || run[end] >= '0' && run[end] <= '9') {
			end++
		}
		if match, _ := m.Match(run[i:end]); match {
			return true
		}
		i = end + 1
	}
	return false
}
