package notice

import "bytes"

// insert puts text in its place, and an empty line behind it. cut takes out
// exactly this.
func (h *head) insert(text []byte, form comment) (old, new []byte, err error) {
	old, rest := h.src[:h.place], h.src[h.place:]
	new = bytes.Clone(old)
	if n := len(old); n > 0 && old[n-1] != '\n' && !bytes.Equal(old, bom) {
		// What must stay first has no end of line: it ends the file, or more
		// follows on its line. The header then has none either.
		if len(rest) > 0 && !form.block() {
			return nil, nil, errGlued(form)
		}
		return old, append(append(new, h.eol...), text...), nil
	}
	new = append(append(new, text...), h.eol...)
	if len(rest) > 0 && !form.raw() {
		new = append(new, h.eol...)
	}
	return old, new, nil
}

// cut takes out what stands at, with its end of line and the empty line
// behind it.
func (h *head) cut(at span, raw bool) (old, new []byte) {
	from, to := h.wholeLine(at)
	rest := h.src[to:]
	switch n := blankRest(rest); {
	case from > 0 && h.src[from-1] != '\n' && from != len(bom):
		// Something else stands before it on its line.
	case n > 0 && rest[n-1] == '\n':
		to += n
		if !raw {
			to += endLength(h.src[to:])
		}
	case from == h.place && bytes.HasSuffix(h.src[:from], []byte("\r\n")):
		from -= len("\r\n")
	case from == h.place && bytes.HasSuffix(h.src[:from], []byte("\n")):
		from -= len("\n")
	}
	return h.src[:to], bytes.Clone(h.src[:from])
}

// put puts text in the place of what stands at, and an empty line behind it
// where there is none.
func (h *head) put(at span, text []byte, form comment) (old, new []byte, err error) {
	from, to := h.wholeLine(at)
	rest := h.src[to:]
	n := blankRest(rest)
	if n == 0 && len(rest) > 0 && !form.block() {
		return nil, nil, errGlued(form)
	}
	new = append(bytes.Clone(h.src[:from]), text...)
	if n > 0 && n < len(rest) && blankRest(rest[n:]) == 0 && !form.raw() {
		new = append(new, h.eol...)
	}
	return h.src[:to], new, nil
}

// wholeLine takes the white space before a comment along, if nothing else
// stands before it on its line.
func (h *head) wholeLine(at span) (from, to int) {
	line := h.place
	if i := bytes.LastIndexByte(h.src[line:at.from], '\n'); i >= 0 {
		line += i + 1
	}
	if len(bytes.TrimSpace(h.src[line:at.from])) == 0 {
		return line, at.to
	}
	return at.from, at.to
}

// endLength returns the length of the end of line that src begins with, or 0.
func endLength(src []byte) int {
	switch {
	case bytes.HasPrefix(src, []byte("\r\n")):
		return 2
	case bytes.HasPrefix(src, []byte("\n")):
		return 1
	}
	return 0
}
