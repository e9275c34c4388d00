package notice

import (
	"bytes"
	"regexp"
)

// bom is the byte order mark of UTF-8, which some editors put first.
var bom = []byte("\xef\xbb\xbf")

// A preambleRule returns the length of the part of the preamble that src begins
// with: 0 if it begins with none, unterminated if that part has no end in src.
// line is the number of lines before src.
type preambleRule func(l *language, src []byte, line int) int

const unterminated = -1

// matched returns a rule that applies an expression to each of the first lines.
func matched(lines int, re *regexp.Regexp) preambleRule {
	return func(_ *language, src []byte, line int) int {
		if line >= lines {
			return 0
		}
		return len(re.Find(src))
	}
}

const anyLine = 1 << 30

var (
	// execve(2) looks at the first two bytes. "#![" is an attribute of Rust.
	interpreterLine = matched(1, regexp.MustCompile(`\A#!(?:[^\[\n][^\n]*)?(?:\n|\z)`))
	// docs.swift.org/swiftpm: the version of the manifest, on its first line.
	swiftTools = matched(1, regexp.MustCompile(`(?i)\A//[ \t]*swift-tools-version:[^\n]*(?:\n|\z)`))
	// PHP prints whatever stands before the tag. One space or the end of the line
	// belongs to the tag.
	phpTag = matched(2, regexp.MustCompile(`\A<\?php(?:[ \t]*(?:\r?\n|\z)|[ \t])`))
	// CSS Syntax Level 3, 3.2: these bytes, at the very beginning.
	charset = matched(1, regexp.MustCompile(`\A@charset "[^"\n]*";(?:[ \t]*(?:\r?\n|\z))?`))
	// docs.docker.com/reference/dockerfile, parser directives: any other comment
	// ends them.
	dockerDirective = matched(anyLine, regexp.MustCompile(`(?i)\A#[ \t]*(?:syntax|escape|check)[ \t]*=[^\n]*(?:\n|\z)`))
	// compinit(zshcompsys) reads the first line only.
	shellFirst = matched(1, regexp.MustCompile(`\A#(?:compdef|autoload)\b[^\n]*(?:\n|\z)`))
	// cloud-init tells the kind of its data by the first line.
	cloudConfig = matched(1, regexp.MustCompile(`\A#cloud-[a-z-]+[ \t]*(?:\r?\n|\z)`))
	// "%&format" names the format to TeX, "% !TEX" the program to editors.
	texFirst = matched(anyLine, regexp.MustCompile(`(?i)\A%(?:&|[ \t]*!TEX\b)[^\n]*(?:\n|\z)`))
	// man(1) reads from the first line which preprocessors to start.
	troffFirst = matched(1, regexp.MustCompile(`\A'\\"[^\n]*(?:\n|\z)`))
	// PEP 263 and Erlang's epp: the encoding, on the first two lines.
	coding = matched(2, regexp.MustCompile(`\A[ \t\f]*[#%]+[^\n]*?coding[:=][ \t]*[-\w.]+[^\n]*(?:\n|\z)`))
	// Ruby's magic comments, and the strictness of Sorbet.
	rubyMagic = matched(anyLine, regexp.MustCompile(`(?i)\A#[ \t]*(?:-\*-[ \t]*)?(?:(?:en)?coding|frozen[-_]string[-_]literal|warn[-_]indent|warn[-_]past[-_]scope|shareable[-_]constant[-_]value|typed)[ \t]*[:=][^\n]*(?:\n|\z)`))
)

// xmlDeclaration is the XML declaration, which comes first (XML 1.0, 2.8).
func xmlDeclaration(_ *language, src []byte, line int) int {
	if line > 0 || !bytes.HasPrefix(src, []byte("<?xml")) || len(src) > 5 && bytes.IndexByte([]byte(" \t\r\n"), src[5]) < 0 {
		return 0
	}
	n := bytes.Index(src, []byte("?>"))
	if n < 0 {
		return unterminated
	}
	n += len("?>")
	return n + blankRest(src[n:])
}

// doctype is the document type declaration of XML or HTML.
func doctype(_ *language, src []byte, _ int) int {
	const begin = "<!doctype"
	at := len(src) - len(bytes.TrimLeft(src, " \t\r\n"))
	if len(src) < at+len(begin) || !bytes.EqualFold(src[at:at+len(begin)], []byte(begin)) {
		return 0
	}
	depth, quoted := 0, byte(0) // of the internal subset; inside a literal
	for i := at + len(begin); i < len(src); i++ {
		switch b := src[i]; {
		case quoted != 0:
			if b == quoted {
				quoted = 0
			}
		case b == '"' || b == '\'':
			quoted = b
		case b == '[':
			depth++
		case b == ']':
			depth--
		case b == '>' && depth <= 0:
			return i + 1 + blankRest(src[i+1:])
		}
	}
	return unterminated
}

// frontMatter is metadata between lines of --- (or +++) that site generators
// read only at the beginning of a file.
func frontMatter(_ *language, src []byte, line int) int {
	if line > 0 || !bytes.HasPrefix(src, []byte("---")) && !bytes.HasPrefix(src, []byte("+++")) {
		return 0
	}
	fence := string(src[:3])
	for n := 0; n < len(src); {
		l := lineAt(src[n:])
		is := string(bytes.TrimRight(l, " \t\r\n")) == fence
		switch {
		case n == 0 && !is:
			return 0
		case n > 0 && is:
			return n + len(l)
		}
		n += len(l)
	}
	return unterminated
}

// jsPragma matches the pragmas that Jest and its like read from the first comment
// of a file only.
var jsPragma = regexp.MustCompile(`@(?:jest-[\w-]+|flow|noflow|format|noformat|prettier|noprettier)\b`)

// docblock is a comment with such a pragma. If it is a legal notice too it is no
// preamble: another notice would follow it.
func docblock(_ *language, src []byte, line int) int {
	if !bytes.HasPrefix(src, []byte("/*")) {
		return 0
	}
	n := bytes.Index(src[len("/*"):], []byte("*/"))
	if n < 0 {
		return unterminated
	}
	n += len("/**/")
	if text := src[:n]; line > 1 || !jsPragma.Match(text) || legal.Match(text) || generated.Match(text) {
		return 0
	}
	return n + blankRest(src[n:])
}

var (
	emacsMode = regexp.MustCompile(`-\*-.*-\*-`)
	vimMode   = regexp.MustCompile(`\b(?:vim?|ex):[ \t]`)
)

// editorLine is a comment for Emacs, which reads the first line (the second
// after "#!"), or for Vim, which by default reads the first five.
func editorLine(l *language, src []byte, line int) int {
	text := lineAt(src)
	if line >= 2 || !emacsMode.Match(text) && !vimMode.Match(text) || !l.isComment(bytes.TrimSpace(text)) {
		return 0
	}
	return len(text)
}

// isComment reports whether text, without white space around it, is one whole
// comment.
func (l *language) isComment(text []byte) bool {
	for _, c := range l.styles {
		if !c.opens(text) {
			continue
		}
		if !c.block() {
			return true
		}
		if n, ok := c.end(text); ok && n == len(text) {
			return true
		}
	}
	return false
}

// lineAt returns the first line of src with its end.
func lineAt(src []byte) []byte {
	if i := bytes.IndexByte(src, '\n'); i >= 0 {
		return src[:i+1]
	}
	return src
}

// blankRest returns the length of the first line of src, its end included, or 0
// if the line is not blank.
func blankRest(src []byte) int {
	l := lineAt(src)
	if len(bytes.TrimSpace(l)) > 0 {
		return 0
	}
	return len(l)
}
