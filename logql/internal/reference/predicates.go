package reference

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/logql/syntax"
)

// predicate reports whether the labels meet a condition. A value that is no number meets it,
// with an error.
func (s *state) predicate(p syntax.Predicate) bool {
	switch n := p.(type) {
	case *syntax.And:
		return s.predicate(n.Left) && s.predicate(n.Right)
	case *syntax.Or:
		return s.predicate(n.Left) || s.predicate(n.Right)
	case *syntax.TextPredicate:
		value, _ := s.get(n.Matcher.Name)
		return matches(n.Matcher, value)
	case *syntax.IPPredicate:
		value, ok := s.get(n.Name)
		return s.err != "" || ok && hasAddress(value, n.Value) != n.Negate
	case *syntax.NumberPredicate:
		return compare(s, n.Name, n.Op, n.Value, number)
	case *syntax.DurationPredicate:
		return compare(s, n.Name, n.Op, n.Value, time.ParseDuration)
	case *syntax.BytesPredicate:
		return compare(s, n.Name, n.Op, float64(n.Value), size)
	}
	return false
}

func compare[T cmp.Ordered](s *state, name string, op syntax.CompareOp, want T, read func(string) (T, error)) bool {
	text, ok := s.get(name)
	if !ok {
		return false
	}
	value, err := read(text)
	if err != nil {
		if s.err == "" {
			s.fail("LabelFilterErr")
		}
		return true
	}
	switch op {
	case syntax.CompareEqual:
		return value == want
	case syntax.CompareNotEqual:
		return value != want
	case syntax.CompareLess:
		return value < want
	case syntax.CompareLessOrEqual:
		return value <= want
	case syntax.CompareGreater:
		return value > want
	}
	return value >= want
}

func number(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

var sizeText = regexp.MustCompile(`^([0-9.]+) ?([kmg]?)(i?)b?$`)

func size(text string) (float64, error) {
	m := sizeText.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return 0, strconv.ErrSyntax
	}
	v, err := number(m[1])
	unit := 1000.0
	if m[3] == "i" {
		unit = 1024
	}
	for range map[string]int{"": 0, "k": 1, "m": 2, "g": 3}[m[2]] {
		v *= unit
	}
	return v, err
}
