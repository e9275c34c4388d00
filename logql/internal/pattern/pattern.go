// Package pattern reads lines of a known shape: <ip> - <user> [<_>] "<method> <_>".
package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// A Pattern is texts with captures between them. Many goroutines may use one at once.
type Pattern struct {
	// parts alternate: the text before the first capture, which may be empty, that before the
	// second, and so on. Behind the last capture there is one more.
	parts [][]byte
	names []string // of captures, "" for <_>
}

var capture = regexp.MustCompile(`<[a-zA-Z_][a-zA-Z0-9_]*>`)

var errConsecutive = errors.New("two captures without a text between them")

func parse(text string) (*Pattern, error) {
	p := &Pattern{}
	end := 0
	for i, at := range capture.FindAllStringIndex(text, -1) {
		if i > 0 && at[0] == end {
			return nil, fmt.Errorf("%q: %w", text, errConsecutive)
		}
		p.parts = append(p.parts, []byte(text[end:at[0]]))
		name := text[at[0]+1 : at[1]-1]
		if name == "_" {
			name = ""
		}
		p.names = append(p.names, name)
		end = at[1]
	}
	p.parts = append(p.parts, []byte(text[end:]))
	return p, nil
}

// Compile compiles a pattern that captures something.
func Compile(text string) (*Pattern, error) {
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	seen := map[string]bool{"": true}
	for _, name := range p.names {
		if name != "" && seen[name] {
			return nil, fmt.Errorf("pattern: %q: capture %s is there twice", text, name)
		}
		seen[name] = true
	}
	if len(seen) == 1 {
		return nil, fmt.Errorf("pattern: %q: no capture; want a <name>", text)
	}
	return p, nil
}

// CompileFilter compiles a pattern that lines match or do not: its captures are all <_>.
func CompileFilter(text string) (*Pattern, error) {
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	for _, name := range p.names {
		if name != "" {
			return nil, fmt.Errorf("pattern: %q: capture <%s>; want <_> in a filter", text, name)
		}
	}
	return p, nil
}

// Names returns the names of the captures, "" for <_>.
func (p *Pattern) Names() []string { return p.names }

// Before returns the text before capture i, or, for i one more than the last, behind all of them.
func (p *Pattern) Before(i int) string { return string(p.parts[i]) }

// Literals returns the texts between the captures, all of which are in each line that matches a
// filter.
func (p *Pattern) Literals() []string {
	var all []string
	for _, part := range p.parts {
		if len(part) > 0 {
			all = append(all, string(part))
		}
	}
	return all
}

// Captures appends to out what the captures of line are, in the order of Names, as many as
// there are: a capture goes to the next place of the text behind it, or to the end of the
// line, and is then the last one.
func (p *Pattern) Captures(line []byte, out [][]byte) [][]byte {
	if len(line) == 0 || !bytes.HasPrefix(line, p.parts[0]) {
		return out
	}
	line = line[len(p.parts[0]):]
	for i := range p.names {
		next := p.parts[i+1]
		if len(next) == 0 {
			return append(out, line)
		}
		at := bytes.Index(line, next)
		if at < 0 {
			return append(out, line)
		}
		out = append(out, line[:at])
		line = line[at+len(next):]
	}
	return out
}

// Match reports whether line is of the pattern: it has the texts one after the other, each at
// its first place behind the one before, with at least one byte where the pattern has a
// capture, and nothing behind the last one. Before the first text there may be anything.
func (p *Pattern) Match(line []byte) bool {
	at := bytes.Index(line, p.parts[0])
	if at < 0 || len(line) == 0 {
		return false
	}
	line = line[at+len(p.parts[0]):]
	for i := range p.names {
		next := p.parts[i+1]
		if len(next) == 0 {
			return len(line) > 0
		}
		at := bytes.Index(line, next)
		if at <= 0 {
			return false
		}
		line = line[at+len(next):]
	}
	return len(line) == 0
}
