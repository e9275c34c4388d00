package template

import (
	"regexp"
	"strings"
)

// maxRegexes bounds the expressions that an Exec keeps: mostly they are constants of the
// template, but they may be labels.
const maxRegexes = 32

type regexCache map[string]*regexp.Regexp

func (e *Exec) compile(expr string) (*regexp.Regexp, error) {
	if re, ok := e.regex[expr]; ok {
		return re, nil
	}
	if err := e.spend(1000 + 50*len(expr)); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(strings.Clone(expr)) // expr may be a part of the line, and re keeps it
	if err != nil {
		return nil, err
	}
	if e.regex == nil || len(e.regex) >= maxRegexes {
		e.regex = regexCache{}
	}
	e.regex[re.String()] = re
	return re, nil
}

// regexReplaceAll replaces all matches of expr in s by with, in which $1 is what the first group
// of the match is.
func (e *Exec) regexReplaceAll(expr, s, with string) (string, error) {
	return e.replaceMatches(expr, s, func(re *regexp.Regexp, out []byte, match []int) ([]byte, error) {
		return e.expand(re, out, with, s, match)
	})
}

// expand is re.ExpandString that ends once out is longer than a template may make: with names
// at most one group from one $ to the next.
func (e *Exec) expand(re *regexp.Regexp, out []byte, with, s string, match []int) ([]byte, error) {
	for with != "" {
		n := 1
		if strings.HasPrefix(with, "$$") {
			n = 2
		} else if next := strings.IndexByte(with[1:], '$'); next >= 0 {
			n += next
		} else {
			n = len(with)
		}
		out = re.ExpandString(out, with[:n], s, match)
		if err := e.room(len(out)); err != nil {
			return nil, err
		}
		with = with[n:]
	}
	return out, nil
}

// regexReplaceAllLiteral replaces all matches of expr in s by with.
func (e *Exec) regexReplaceAllLiteral(expr, s, with string) (string, error) {
	return e.replaceMatches(expr, s, func(_ *regexp.Regexp, out []byte, _ []int) ([]byte, error) {
		return append(out, with...), e.room(len(out) + len(with))
	})
}

func (e *Exec) replaceMatches(expr, s string, expand func(re *regexp.Regexp, out []byte, match []int) ([]byte, error)) (string, error) {
	re, matches, err := e.matches(expr, s, (*regexp.Regexp).FindAllStringSubmatchIndex)
	if err != nil {
		return "", err
	}
	var out []byte
	end := 0
	for _, m := range matches {
		if out, err = expand(re, append(out, s[end:m[0]]...), m); err != nil {
			return "", err
		}
		end = m[1]
	}
	out = append(out, s[end:]...)
	return string(out), e.made(string(out))
}

// count returns how many matches of expr s has.
func (e *Exec) count(expr, s string) (int, error) {
	_, matches, err := e.matches(expr, s, (*regexp.Regexp).FindAllStringIndex)
	return len(matches), err
}

// matches returns the matches of expr in s. Each takes memory, and an empty one is between any
// two characters: what is left of the work of an execution bounds them.
func (e *Exec) matches(expr, s string, find func(re *regexp.Regexp, s string, n int) [][]int) (*regexp.Regexp, [][]int, error) {
	re, err := e.compile(expr)
	if err != nil {
		return nil, nil, err
	}
	if err := e.spend(8 + 8*len(s)); err != nil {
		return nil, nil, err
	}
	each := 24 + 16*(re.NumSubexp()+1)
	most := (maxWork - e.work) / each
	found := find(re, s, most+1)
	if len(found) > most {
		return nil, nil, errWork
	}
	return re, found, e.spend(each * len(found))
}
