// Package hardlines makes log lines that a store of templates and columns has no use for:
// random bytes, base64, natural text in five scripts, minified JSON and stack traces of many
// lines. A codec that takes lines apart must not make them much larger.
package hardlines

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// A Kind is a kind of hard lines.
type Kind struct {
	Name string
	next func(m *maker)
}

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		{"random", (*maker).random},
		{"base64", (*maker).base64},
		{"text", (*maker).text},
		{"json", (*maker).json},
		{"traces", (*maker).trace},
	}
}

// Lines returns a function that makes one line after another, the same ones for the same
// seed. A line is valid until the next one is made. It has some 40 to 900 bytes.
func (k Kind) Lines(seed uint64) func() []byte {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0x4a2d))}
	return func() []byte {
		m.line = m.line[:0]
		k.next(m)
		return m.line
	}
}

// A maker makes lines.
type maker struct {
	*rand.Rand
	line []byte
	raw  []byte
}

// add appends a text to the line.
func (m *maker) add(text string) { m.line = append(m.line, text...) }

// number appends a number below n to the line.
func (m *maker) number(n int) { m.line = strconv.AppendInt(m.line, int64(m.IntN(n)), 10) }

// pick returns one of the texts, the first ones likelier, as words of a language are.
func (m *maker) pick(from []string) string {
	return from[int(m.Float64()*m.Float64()*float64(len(from)))]
}

// bytes returns random bytes.
func (m *maker) bytes() []byte {
	m.raw = m.raw[:0]
	for range 40 + m.IntN(200) {
		m.raw = append(m.raw, byte(m.Uint32()))
	}
	return m.raw
}

// random makes a line of any bytes but the end of a line, so that a file can have it.
func (m *maker) random() {
	for _, c := range m.bytes() {
		if c == '\n' || c == '\r' {
			c = 0
		}
		m.line = append(m.line, c)
	}
}

func (m *maker) base64() { m.line = base64.StdEncoding.AppendEncode(m.line, m.bytes()) }

// text makes sentences of one script.
func (m *maker) text() {
	s := &scripts[m.IntN(len(scripts))]
	for i := range 2 + m.IntN(4) {
		if i > 0 {
			m.add(s.blank)
		}
		for j := range 4 + m.IntN(12) {
			if j > 0 {
				m.add(s.blank)
			}
			m.add(m.pick(s.words))
		}
		m.add(s.stop)
	}
}

// json makes an object without blanks, whose fields come in any order.
func (m *maker) json() { m.object(0) }

func (m *maker) object(depth int) {
	m.add("{")
	first := m.IntN(len(jsonKeys))
	n := 2 + m.IntN(6)
	for i := range n {
		if i > 0 {
			m.add(",")
		}
		m.line = strconv.AppendQuote(m.line, jsonKeys[(first+i*5)%len(jsonKeys)])
		m.add(":")
		m.value(depth)
	}
	m.add("}")
}

func (m *maker) value(depth int) {
	kind := m.IntN(9)
	if depth > 2 {
		kind %= 7
	}
	switch kind {
	case 0, 1:
		m.number(1 << m.IntN(40))
	case 2:
		m.line = strconv.AppendFloat(m.line, m.NormFloat64()*1000, 'g', 1+m.IntN(16), 64)
	case 3:
		m.add(m.pick([]string{"true", "false", "null"}))
	case 4, 5:
		m.line = strconv.AppendQuote(m.line, m.pick(scripts[0].words)+" "+m.pick(scripts[0].words))
	case 6:
		m.line = fmt.Appendf(m.line, `"%016x"`, m.Uint64())
	case 7:
		m.object(depth + 1)
	default:
		m.add("[")
		for i := range m.IntN(5) {
			if i > 0 {
				m.add(",")
			}
			m.value(depth + 1)
		}
		m.add("]")
	}
}

// trace makes a stack trace, of more than one line.
func (m *maker) trace() {
	m.add("panic: runtime error: index out of range [")
	m.number(5000)
	m.add("] with length ")
	m.number(5000)
	m.line = fmt.Appendf(m.line, "\n\ngoroutine %d [%s]:", m.IntN(100_000), m.pick([]string{"running", "select", "chan receive", "IO wait"}))
	for range 3 + m.IntN(9) {
		pack, name := m.pick(tracePackages), m.pick(traceFuncs)
		m.line = fmt.Appendf(m.line, "\n%s.%s(0x%x, {0x%x, 0x%x})\n\t/src/%s/%s.go:%d +0x%x", pack, name,
			0xc000000000+m.Uint64N(1<<30)*8, 0xc000000000+m.Uint64N(1<<30)*8, m.IntN(1<<12), pack, m.pick(scripts[0].words), 1+m.IntN(900), m.IntN(1<<11))
	}
}
