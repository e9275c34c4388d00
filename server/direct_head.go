package server

import "bytes"

const pushLine = "POST " + pushPath + " HTTP/1.1\r\n"

// mayBePush reports whether a request begins as a push does.
func mayBePush(p []byte) bool {
	n := min(len(p), len(pushLine))
	return string(p[:n]) == pushLine[:n]
}

// A directHead is the headers of a push.
type directHead struct {
	host, contentType, encoding, tenant, source, offset, key []byte
	tenants                                                  int // 0 or 1
	length                                                   int64
	lengthFrom, lengthTo                                     int // of the text of length
}

// A knownHead is the headers of the last push of a connection: most clients send the same
// ones again, but for the length.
type knownHead struct {
	directHead
	text []byte // what directHead is part of; empty if it is not to be compared
}

// maxKnownHead bounds what an idle connection keeps, in bytes.
const maxKnownHead = 512

// read is parse for headers that may be the last ones again.
func (k *knownHead) read(p []byte) bool {
	if k.again(p) {
		return true
	}
	k.text = k.text[:0]
	if len(p) > maxKnownHead {
		k.text = nil
		return k.parse(p)
	}
	text := append(k.text, p...)
	if !k.parse(text) {
		return false
	}
	k.text = text
	return true
}

// again reports whether p is the last headers, but for the length, which it sets.
func (k *knownHead) again(p []byte) bool {
	from, rest := k.lengthFrom, len(k.text)-k.lengthTo
	to := len(p) - rest
	if len(k.text) == 0 || to <= from || string(p[:from]) != string(k.text[:from]) || string(p[to:]) != string(k.text[k.lengthTo:]) {
		return false
	}
	return k.setLength(p[from:to])
}

// The headers of a directHead that may be there once: which of several counts is for
// net/http to say.
const (
	hasHost = 1 << iota
	hasType
	hasEncoding
	hasTenant
	hasSource
	hasKey
	hasOffset
)

// parse reads headers, up to their empty line. It reports false for what net/http is to
// answer.
func (h *directHead) parse(p []byte) bool {
	*h = directHead{length: -1}
	if !mayBePush(p) || len(p) < len(pushLine) {
		return false
	}
	size := len(p)
	p = p[len(pushLine):]
	seen := 0
	for len(p) > 2 {
		i := bytes.IndexByte(p, '\r')
		if i < 0 || p[i+1] != '\n' {
			return false
		}
		name, value, ok := bytes.Cut(p[:i], []byte{':'})
		end := size - len(p) + i
		p = p[i+2:]
		if !ok || !plainHeader(name, value) {
			return false
		}
		value, end = trim(value), end-spaces(value)
		has := 0
		switch {
		case is(name, "host"):
			h.host, has = value, hasHost
		case is(name, "content-length"):
			if h.length >= 0 || !h.setLength(value) {
				return false
			}
			h.lengthFrom, h.lengthTo = end-len(value), end
		case is(name, "content-type"):
			h.contentType, has = value, hasType
		case is(name, "content-encoding"):
			h.encoding, has = value, hasEncoding
		case is(name, "x-scope-orgid"):
			h.tenant, h.tenants, has = value, 1, hasTenant
		case is(name, "x-stele-source"):
			h.source, has = value, hasSource
		case is(name, "x-stele-key"):
			h.key, has = value, hasKey
		case is(name, "x-stele-offset"):
			h.offset, has = value, hasOffset
		case is(name, "connection"):
			if !is(value, "keep-alive") {
				return false
			}
		case is(name, "transfer-encoding"), is(name, "expect"), is(name, "upgrade"), is(name, "origin"), is(name, "sec-fetch-site"), is(name, "trailer"):
			return false
		}
		if seen&has != 0 {
			return false
		}
		seen |= has
	}
	return h.length >= 0 && seen&hasHost != 0
}

// plainHost reports whether net/http takes a Host, which it may also when this is false.
func plainHost(p []byte) bool {
	for _, c := range p {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte("-._:[]"), c) < 0 {
			return false
		}
	}
	return true
}

// hasBareLF reports whether a line ends without CR. net/http takes that for the end of a line.
func hasBareLF(p []byte) bool {
	return bytes.Count(p, []byte("\n")) != bytes.Count(p, []byte("\r\n"))
}

func (h *directHead) setLength(p []byte) bool {
	n := int64(0)
	for _, c := range p {
		if c < '0' || c > '9' || n > 1<<40 {
			return false
		}
		n = n*10 + int64(c-'0')
	}
	h.length = n
	return len(p) > 0
}

// is reports whether a name is that one, which is of lower case.
func is(p []byte, name string) bool {
	if len(p) != len(name) {
		return false
	}
	for i := range p {
		c := p[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// plainHeader reports whether a header has a name of letters, digits and hyphens, and a
// value without control characters. So a continued line is none.
func plainHeader(name, value []byte) bool {
	for _, c := range name {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return len(name) > 0
}

// spaces returns how many spaces and tabs p ends with.
func spaces(p []byte) (n int) {
	for n < len(p) && (p[len(p)-1-n] == ' ' || p[len(p)-1-n] == '\t') {
		n++
	}
	return n
}

func trim(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t') {
		p = p[1:]
	}
	return p[:len(p)-spaces(p)]
}
