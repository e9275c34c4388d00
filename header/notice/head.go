package notice

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// A span is a part of a file, from and to in bytes.
type span struct{ from, to int }

// A comment is one comment at the head of a file: a block, or consecutive line
// comments.
type comment struct {
	span
	style commentStyle
}

// A head is the parsed beginning of a file: the preamble, then the comments
// before the first line of code.
type head struct {
	src      []byte
	eol      string
	styles   []commentStyle
	start    int       // where a notice goes: the end of the preamble
	comments []comment // from there to the code
	code     int       // where the code begins
	gap      int       // the last end of a line but one before the code, or -1
	scanned  int       // all of this follows from the first scanned bytes of src
}

// parseHead parses src, the beginning of a file of the language l. notice is
// the comment to write, or nil: where it stands already the preamble ends, even
// if its text looks like part of one.
func parseHead(l *language, src, notice []byte, eol string) head {
	h := head{src: src, eol: eol, styles: l.longest()}
	if bytes.HasPrefix(src, bom) {
		h.start = len(bom)
	}
	rules := append([]preambleRule{interpreterLine}, l.preamble...)
	rules = append(rules, editorLine)
	complete := true
	line, counted := 0, 0 // the lines before start
	for {
		if _, ok := sameLines(src[h.start:], notice, l.styles[0].block()); ok {
			break
		}
		line += bytes.Count(src[counted:h.start], []byte("\n"))
		counted = h.start
		n := 0
		for _, r := range rules {
			if n = r(l, src[h.start:], line); n > 0 {
				break
			}
			if n == unterminated { // and no preamble at all if src is the whole file
				complete = false
			}
		}
		if n <= 0 {
			// The empty line after the preamble belongs to it.
			if h.start > 0 && src[h.start-1] == '\n' {
				h.start += endLength(src[h.start:])
			}
			break
		}
		h.start += n
	}
	h.parseComments()
	h.gap = bytes.LastIndexByte(src[:max(0, bytes.LastIndexByte(src[:h.code], '\n'))], '\n')
	h.scanned = max(h.scanned, h.start+len(notice))
	if !complete {
		h.scanned = len(src)
	}
	return h
}

// parseComments finds the comments from the start to the code.
func (h *head) parseComments() {
	at := h.start
	for {
		at += len(h.src[at:]) - len(bytes.TrimLeft(h.src[at:], " \t\r\n\f"))
		h.code, h.scanned = at, at
		i := slices.IndexFunc(h.styles, func(c commentStyle) bool { return c.opens(h.src[at:]) })
		if i < 0 {
			return
		}
		c := h.styles[i]
		if !c.block() {
			at = h.lines(c, at)
			continue
		}
		n, ok := c.end(h.src[at:])
		if !ok {
			h.scanned = len(h.src) // unterminated, or its end is not in src
			return
		}
		h.add(c, at, at+n)
		at += n
	}
}

// longest returns the styles, blocks first: "--[[" begins with "--".
func (l *language) longest() []commentStyle {
	styles := slices.Clone(l.styles)
	slices.SortStableFunc(styles, func(a, b commentStyle) int { return len(b.close) - len(a.close) })
	return styles
}

// add appends a block. One-line blocks on consecutive lines are one comment: a
// frame of /* */ lines.
func (h *head) add(c commentStyle, from, to int) {
	if i := len(h.comments) - 1; i >= 0 && h.comments[i].style == c {
		last := &h.comments[i]
		line := bytes.TrimSpace(h.src[last.from+bytes.LastIndexByte(h.src[last.from:last.to], '\n')+1 : last.to])
		text := h.src[from:to]
		next := strings.TrimLeft(string(h.src[last.to:from]), " \t\r") == "\n"
		oneLine := c.opens(line) && !bytes.Contains(text, []byte("\n"))
		if next && oneLine && docBlock.Match(line) == docBlock.Match(text) {
			last.to = to
			return
		}
	}
	h.comments = append(h.comments, comment{span{from, to}, c})
}

// A documentation comment (/// and //!, /** and /*!) belongs to the code below:
// it is a comment of its own, even right below a notice.
var (
	docLine  = regexp.MustCompile(`^[/!](?:[ \t]|$)`)
	docBlock = regexp.MustCompile(`^/\*[*!][ \t\pL]`)
)

// directive matches line comments for compilers and checkers, such as go:build.
// They are no part of a comment, so that editing a notice leaves them.
var directive = regexp.MustCompile(`^(?:[a-z]+:[a-z]|(?:export|line|extern) \S)` +
	`|^[ \t]*(?:\+build |@ts-|eslint-|<reference |nolint\b|shellcheck [a-z]+=` +
	`|(?:type|mypy|pylint|pyright|ruff|flake8|isort|fmt|cython|rubocop|yaml-language-server): ?[a-z])`)

// lines adds the line comments that begin at from, and returns where they end.
func (h *head) lines(c commentStyle, from int) int {
	at, start, doc := from, -1, false
	end := func() {
		if start >= 0 {
			to := start + len(bytes.TrimRight(h.src[start:at], "\r\n"))
			h.comments = append(h.comments, comment{span{start, to}, c})
			start = -1
		}
	}
	for at < len(h.src) {
		l := lineAt(h.src[at:])
		text := bytes.TrimLeft(l, " \t")
		if !c.opens(text) {
			break
		}
		text = bytes.TrimRight(text[len(c.open):], "\r\n")
		isDirective, isDoc := directive.Match(text), docLine.Match(text)
		if isDirective || isDoc != doc {
			end()
		}
		if start < 0 && !isDirective {
			start, doc = at, isDoc
		}
		at += len(l)
	}
	end()
	return at
}

// apart reports whether an empty line separates a comment from the code below,
// or no code follows.
func (h *head) apart(n comment) bool {
	return h.code == len(h.src) || h.gap >= n.to
}

// text returns a comment as it stands in the file.
func (h *head) text(n comment) []byte { return h.src[n.from:n.to] }

// legal matches a line about copyright or a licence.
var legal = regexp.MustCompile(`(?im)SPDX-License-Identifier:|SPDX-FileCopyrightText:` +
	`|^[^\pL\n]*copyright\b|(?:\bcopyright\b|\(c\)|©)[^\n]*\b(?:19|20)\d\d\b` +
	`|\blicen[sc]ed (?:to|under)\b|\bMozilla Public License\b|\bGNU (?:Lesser |Affero |Library )?General Public License\b`)

// generated matches the marks of generated files (go.dev/s/generatedcode, and
// those of other languages).
var generated = regexp.MustCompile(`(?m)Code generated .*DO NOT EDIT|@generated\b|<auto-generated\b` +
	`|Generated by the protocol buffer compiler|GENERATED CODE - DO NOT MODIFY BY HAND` +
	`|automatically generated by (?:rust-bindgen|SWIG)\b|Autogenerated by Thrift\b` +
	`|autogenerated by (?:pip-compile|uv)\b|maintained automatically by "terraform init"`)

// find returns the first comment that is as asked for.
func (h *head) find(is func(n comment) bool) (comment, bool) {
	i := slices.IndexFunc(h.comments, is)
	if i < 0 {
		return comment{}, false
	}
	return h.comments[i], true
}

// sameLines reports whether src begins with the lines of notice, whatever their
// years, and returns their length in src. More may follow on the last line of a
// block.
func sameLines(src, notice []byte, block bool) (n int, ok bool) {
	if len(notice) == 0 {
		return 0, false
	}
	for {
		want, got := lineAt(notice), lineAt(src[n:])
		text := bytes.TrimRight(got, "\r\n")
		if notice = notice[len(want):]; len(notice) == 0 {
			if block && bytes.HasPrefix(text, want) {
				return n + len(want), true
			}
			return n + len(text), equalLines(text, want)
		}
		if len(text) == len(got) || !equalLines(text, bytes.TrimRight(want, "\r\n")) {
			return 0, false
		}
		n += len(got)
	}
}

func equalLines(a, b []byte) bool {
	return bytes.Equal(a, b) || anyYear(string(a)) == anyYear(string(b))
}

// endOfLine returns the end of the first line of src, "\n" by default.
func endOfLine(src []byte) string {
	if bytes.HasSuffix(lineAt(src), []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
