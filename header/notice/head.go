package notice

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// A span is a part of a file, from and to in bytes.
type span struct{ from, to int }

// A note is one comment at the head of a file: a block, or lines of line
// comments without anything between them.
type note struct {
	span
	form comment
}

// A head is what the beginning of a file says.
type head struct {
	src   []byte
	eol   string
	forms []comment
	place int    // where a header belongs
	notes []note // the comments from there to the first line of anything else
	code  int    // where that anything else begins
	gap   int    // the last end of a line but one before that, or -1
	end   int    // how far src was looked at for all of this
}

// readHead takes src, the beginning of a file of the language l, apart. own is
// a header as it would be written there, or nil: where it stands is its place,
// even if its text looks like something that must be first.
func readHead(l *language, src, own []byte, eol string) head {
	h := head{src: src, eol: eol, forms: l.longest()}
	if bytes.HasPrefix(src, bom) {
		h.place = len(bom)
	}
	rules := append([]firstRule{interpreterLine}, l.first...)
	rules = append(rules, editorLine)
	inSight := true
	line, counted := 0, 0 // the lines before place
	for {
		if _, ok := sameLines(src[h.place:], own, l.forms[0].block()); ok {
			break
		}
		line += bytes.Count(src[counted:h.place], []byte("\n"))
		counted = h.place
		n := 0
		for _, r := range rules {
			if n = r(l, src[h.place:], line); n > 0 {
				break
			}
			if n == unended { // if src is the whole file, it is not what it looks like
				inSight = false
			}
		}
		if n <= 0 {
			// The empty line behind what stays first stays with it.
			if h.place > 0 && src[h.place-1] == '\n' {
				h.place += endLength(src[h.place:])
			}
			break
		}
		h.place += n
	}
	h.read()
	h.gap = bytes.LastIndexByte(src[:max(0, bytes.LastIndexByte(src[:h.code], '\n'))], '\n')
	h.end = max(h.end, h.place+len(own))
	if !inSight {
		h.end = len(src)
	}
	return h
}

// read finds the notes.
func (h *head) read() {
	at := h.place
	for {
		at += len(h.src[at:]) - len(bytes.TrimLeft(h.src[at:], " \t\r\n\f"))
		h.code, h.end = at, at
		i := slices.IndexFunc(h.forms, func(c comment) bool { return c.opens(h.src[at:]) })
		if i < 0 {
			return
		}
		c := h.forms[i]
		if !c.block() {
			at = h.lines(c, at)
			continue
		}
		n, ok := c.end(h.src[at:])
		if !ok {
			h.end = len(h.src) // its end is not in sight
			return
		}
		h.add(c, at, at+n)
		at += n
	}
}

// longest returns the forms, those with a close first: "--[[" begins with "--".
func (l *language) longest() []comment {
	forms := slices.Clone(l.forms)
	slices.SortStableFunc(forms, func(a, b comment) int { return len(b.close) - len(a.close) })
	return forms
}

// add appends a block. One-line blocks on lines that follow each other are
// one note: a frame of /* */ lines.
func (h *head) add(c comment, from, to int) {
	if i := len(h.notes) - 1; i >= 0 && h.notes[i].form == c {
		last := &h.notes[i]
		line := bytes.TrimSpace(h.src[last.from+bytes.LastIndexByte(h.src[last.from:last.to], '\n')+1 : last.to])
		text := h.src[from:to]
		next := strings.TrimLeft(string(h.src[last.to:from]), " \t\r") == "\n"
		oneLine := c.opens(line) && !bytes.Contains(text, []byte("\n"))
		if next && oneLine && docBlock.Match(line) == docBlock.Match(text) {
			last.to = to
			return
		}
	}
	h.notes = append(h.notes, note{span{from, to}, c})
}

// A documentation comment (/// and //!, /** and /*!) belongs to the code below:
// it is a note of its own, even right below a header.
var (
	docLine  = regexp.MustCompile(`^[/!](?:[ \t]|$)`)
	docBlock = regexp.MustCompile(`^/\*[*!][ \t\pL]`)
)

// directive is a line comment that compilers and checkers read, as go:build.
// It is no part of a note, so that no header takes it along.
var directive = regexp.MustCompile(`^(?:[a-z]+:[a-z]|(?:export|line|extern) \S)` +
	`|^[ \t]*(?:\+build |@ts-|eslint-|<reference |nolint\b|shellcheck [a-z]+=` +
	`|(?:type|mypy|pylint|pyright|ruff|flake8|isort|fmt|cython|rubocop|yaml-language-server): ?[a-z])`)

// lines adds the line comments that begin at from as notes, and returns where
// they end.
func (h *head) lines(c comment, from int) int {
	at, start, doc := from, -1, false
	end := func() {
		if start >= 0 {
			to := start + len(bytes.TrimRight(h.src[start:at], "\r\n"))
			h.notes = append(h.notes, note{span{start, to}, c})
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

// apart says whether an empty line, or the end of the file, keeps a note from
// the code below, which it would else be a comment of.
func (h *head) apart(n note) bool {
	return h.code == len(h.src) || h.gap >= n.to
}

// text returns a note as it stands in the file.
func (h *head) text(n note) []byte { return h.src[n.from:n.to] }

// legal is a line about copyright or a licence.
var legal = regexp.MustCompile(`(?im)SPDX-License-Identifier:|SPDX-FileCopyrightText:` +
	`|^[^\pL\n]*copyright\b|(?:\bcopyright\b|\(c\)|©)[^\n]*\b(?:19|20)\d\d\b` +
	`|\blicen[sc]ed (?:to|under)\b|\bMozilla Public License\b|\bGNU (?:Lesser |Affero |Library )?General Public License\b`)

// generated is how programs mark what they wrote (go.dev/s/generatedcode, and
// the like of other languages).
var generated = regexp.MustCompile(`(?m)Code generated .*DO NOT EDIT|@generated\b|<auto-generated\b` +
	`|Generated by the protocol buffer compiler|GENERATED CODE - DO NOT MODIFY BY HAND` +
	`|automatically generated by (?:rust-bindgen|SWIG)\b|Autogenerated by Thrift\b` +
	`|autogenerated by (?:pip-compile|uv)\b|maintained automatically by "terraform init"`)

// find returns the first note whose text is.
func (h *head) find(is func(n note) bool) (note, bool) {
	i := slices.IndexFunc(h.notes, is)
	if i < 0 {
		return note{}, false
	}
	return h.notes[i], true
}

// sameLines returns the length of what src begins with, if that is own, years
// aside, on lines of its own. Behind a block more may follow on its last line.
func sameLines(src, own []byte, block bool) (n int, ok bool) {
	if len(own) == 0 {
		return 0, false
	}
	for {
		want, got := lineAt(own), lineAt(src[n:])
		text := bytes.TrimRight(got, "\r\n")
		if own = own[len(want):]; len(own) == 0 {
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

// endOfLine is how the lines of src end.
func endOfLine(src []byte) string {
	if bytes.HasSuffix(lineAt(src), []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
