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
	return e.replaceMatches(expr, s, func(re *regexp.Regexp, out []byte, match []int) []byte {
		return re.ExpandString(out, with, s, match)
	})
}

// regexReplaceAllLiteral replaces all matches of expr in s by with.
func (e *Exec) regexReplaceAllLiteral(expr, s, with string) (string, error) {
	return e.replaceMatches(expr, s, func(_ *regexp.Regexp, out []byte, _ []int) []byte { return append(out, with...) })
}

func (e *Exec) replaceMatches(expr, s string, expand func(re *regexp.Regexp, out []byte, match []int) []byte) (string, error) {
	re, err := e.compile(expr)
	if err != nil {
		return "", err
	}
	if err := e.spend(8 + 8*len(s)); err != nil {
		return "", err
	}
	var out []byte
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		out = expand(re, append(out, s[end:m[0]]...), m)
		end = m[1]
		if len(out) > e.t.limit {
			return "", e.tooLong()
		}
	}
	out = append(out, s[end:]...)
	return string(out), e.spend(len(out))
}

// count returns how many matches of expr s has.
func (e *Exec) count(expr, s string) (int, error) {
	re, err := e.compile(expr)
	if err != nil {
		return 0, err
	}
	if err := e.spend(8 + 8*len(s)); err != nil {
		return 0, err
	}
	return len(re.FindAllStringIndex(s, -1)), nil
}
