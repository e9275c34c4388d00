package template

import (
	"strings"
	"unicode/utf8"
)

// maxFastWidth is the greatest width of a verb that a program takes.
const maxFastWidth = 1000

// A verb is a text of a format, and the argument behind it: %s or %v of a text, %-10s, %.3s.
type verb struct {
	before    string
	left      bool
	width     int
	precision int // characters; -1: all
}

// parseFormat reads a format of %s and %v. rest is the text behind the last verb.
func parseFormat(format string) (verbs []verb, rest string, ok bool) {
	text := ""
	for {
		before, behind, found := strings.Cut(format, "%")
		text += before
		if !found {
			return verbs, text, true
		}
		if strings.HasPrefix(behind, "%") {
			text, format = text+"%", behind[1:]
			continue
		}
		v := verb{before: text, precision: -1}
		v.left = strings.HasPrefix(behind, "-")
		behind = strings.TrimPrefix(behind, "-")
		if strings.HasPrefix(behind, "0") { // a flag
			return nil, "", false
		}
		n, digits, ok := number(behind)
		if !ok || n > maxFastWidth {
			return nil, "", false
		}
		v.width, behind = n, behind[digits:]
		if strings.HasPrefix(behind, ".") {
			n, digits, ok := number(behind[1:])
			if !ok || n > maxFastWidth || digits == 0 {
				return nil, "", false
			}
			v.precision, behind = n, behind[1+digits:]
		}
		if behind == "" || behind[0] != 's' && behind[0] != 'v' {
			return nil, "", false
		}
		verbs, text, format = append(verbs, v), "", behind[1:]
	}
}

// printfCall compiles printf of a constant format whose arguments are texts.
func printfCall(format string, args []operand) (operand, bool) {
	verbs, rest, ok := parseFormat(format)
	if !ok || len(verbs) != len(args) {
		return operand{}, false
	}
	for _, a := range args {
		if a.kind != textParam {
			return operand{}, false
		}
	}
	most := len(rest)
	for _, v := range verbs {
		most += len(v.before) + v.width + 2*verbBytes
	}
	return textOperand(func(e *Exec) (string, bool) {
		if e.spend(8+2*len(format)) != nil {
			return "", false
		}
		// Arguments first: they use e.scratch, too.
		first := len(e.texts)
		defer func() { e.texts = e.texts[:first] }()
		size := most
		for _, a := range args {
			s, ok := a.text(e)
			if !ok || e.spend(24+2*len(s)) != nil {
				return "", false
			}
			size += len(s)
			e.texts = append(e.texts, s)
		}
		if e.room(size) != nil {
			return "", false
		}
		from := len(e.scratch)
		for i := range verbs {
			e.appendVerb(&verbs[i], e.texts[first+i])
		}
		e.scratch = append(e.scratch, rest...)
		return e.keep(from)
	}), true
}

func (e *Exec) appendVerb(v *verb, s string) {
	e.scratch = append(e.scratch, v.before...)
	if v.precision >= 0 {
		s = s[:runeAt(s, v.precision)]
	}
	blanks := 0
	if v.width > 0 {
		blanks = max(0, v.width-utf8.RuneCountInString(s))
	}
	if !v.left {
		e.pad(blanks)
	}
	e.scratch = append(e.scratch, s...)
	if v.left {
		e.pad(blanks)
	}
}
