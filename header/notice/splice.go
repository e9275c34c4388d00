package notice

import "bytes"

// insert adds text at the start, and an empty line after it. remove is its
// inverse.
func (h *head) insert(text []byte, style commentStyle) (old, new []byte, err error) {
	old, rest := h.src[:h.start], h.src[h.start:]
	new = bytes.Clone(old)
	if n := len(old); n > 0 && old[n-1] != '\n' && !bytes.Equal(old, bom) {
		// The preamble has no end of line: it ends the file, or code follows on
		// its line. Then the notice has none either.
		if len(rest) > 0 && !style.block() {
			return nil, nil, errGlued(style)
		}
		return old, append(append(new, h.eol...), text...), nil
	}
	new = append(append(new, text...), h.eol...)
	if len(rest) > 0 && !style.raw() {
		new = append(new, h.eol...)
	}
	return old, new, nil
}

// remove deletes a comment, its end of line and the empty line after it.
func (h *head) remove(at span, raw bool) (old, new []byte) {
	from, to := h.wholeLine(at)
	rest := h.src[to:]
	switch n := blankRest(rest); {
	case from > 0 && h.src[from-1] != '\n' && from != len(bom):
		// Code or a comment stands before it on its line.
	case n > 0 && rest[n-1] == '\n':
		to += n
		if !raw {
			to += endLength(h.src[to:])
		}
	case from == h.start && bytes.HasSuffix(h.src[:from], []byte("\r\n")):
		from -= len("\r\n")
	case from == h.start && bytes.HasSuffix(h.src[:from], []byte("\n")):
		from -= len("\n")
	}
	return h.src[:to], bytes.Clone(h.src[:from])
}

// replace puts text in the place of a comment, and an empty line after it unless
// there is one.
func (h *head) replace(at span, text []byte, style commentStyle) (old, new []byte, err error) {
	from, to := h.wholeLine(at)
	rest := h.src[to:]
	n := blankRest(rest)
	if n == 0 && len(rest) > 0 && !style.block() {
		return nil, nil, errGlued(style)
	}
	new = append(bytes.Clone(h.src[:from]), text...)
	if n > 0 && n < len(rest) && blankRest(rest[n:]) == 0 && !style.raw() {
		new = append(new, h.eol...)
	}
	return h.src[:to], new, nil
}

// wholeLine returns a comment with the white space before it, if nothing else
// stands before it on its line.
func (h *head) wholeLine(at span) (from, to int) {
	line := h.start
	if i := bytes.LastIndexByte(h.src[line:at.from], '\n'); i >= 0 {
		line += i + 1
	}
	if len(bytes.TrimSpace(h.src[line:at.from])) == 0 {
		return line, at.to
	}
	return at.from, at.to
}

// endLength returns the length of the end of line at the beginning of src, or 0.
func endLength(src []byte) int {
	switch {
	case bytes.HasPrefix(src, []byte("\r\n")):
		return 2
	case bytes.HasPrefix(src, []byte("\n")):
		return 1
	}
	return 0
}
