package template

import (
	"encoding/binary"
	"strings"
)

const (
	// MaxSlots bounds the slots of a template in a dictionary.
	MaxSlots = 255
	// MaxLiteral bounds the bytes of all literals of a template in a dictionary.
	MaxLiteral = 64 << 10
)

// A Template is literals with slots between them: a line is its literals with a
// variable in each slot. It is immutable, and safe for concurrent use. The zero value
// is that of New without literals.
type Template struct {
	key  string
	text []byte   // the literals
	ends []uint32 // of each literal but the last, where it ends in text
}

// Plain is the template of a line that fits no other well: one slot, which has the
// line.
var Plain = New(nil, nil)

// New returns the template with these literals, which it copies; each may be empty.
// Between two of them is a slot. Without literals it is the template of an empty line.
// Bounds are those of Dictionary.Add.
func New(literals ...[]byte) Template {
	size, bytes := binary.MaxVarintLen64*(1+len(literals)), 0
	for _, l := range literals {
		bytes += len(l)
	}
	t := Template{text: make([]byte, 0, bytes)}
	if len(literals) > 1 {
		t.ends = make([]uint32, 0, len(literals)-1)
	}
	for i, l := range literals {
		t.text = append(t.text, l...)
		if i < len(literals)-1 {
			t.ends = append(t.ends, uint32(len(t.text)))
		}
	}
	t.key = string(t.appendKey(make([]byte, 0, size+bytes)))
	return t
}

// appendKey appends the key of a template that has text and ends.
func (t Template) appendKey(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.ends)))
	for i := range t.Slots() + 1 {
		dst = binary.AppendUvarint(dst, uint64(len(t.Literal(i))))
	}
	return append(dst, t.text...)
}

// Slots returns the number of slots.
func (t Template) Slots() int { return len(t.ends) }

// Literal returns literal i, from 0 to Slots. The caller must not change it.
func (t Template) Literal(i int) []byte {
	from, to := uint32(0), uint32(len(t.text))
	if i > 0 {
		from = t.ends[i-1]
	}
	if i < len(t.ends) {
		to = t.ends[i]
	}
	return t.text[from:to:to]
}

// Text returns all literals, one after the other. The caller must not change it.
func (t Template) Text() []byte { return t.text }

// Key returns the sizes and the bytes of the literals; see the package comment. Two
// templates are equal if their keys are.
func (t Template) Key() string {
	if t.key == "" {
		return emptyKey
	}
	return t.key
}

const emptyKey = "\x00\x00" // no slots, and a literal of 0 bytes

// String returns the literals with <*> in place of slots.
func (t Template) String() string {
	var b strings.Builder
	for i := range t.Slots() + 1 {
		if i > 0 {
			b.WriteString("<*>")
		}
		b.Write(t.Literal(i))
	}
	return b.String()
}

// parse decodes the template whose key p begins with, and returns the bytes of that.
// It copies nothing: key is p as a string.
func parse(p []byte, key string) (t Template, size int, err error) {
	slots, at, ok := uvarint(p, MaxSlots)
	if !ok {
		return Template{}, 0, errSlots
	}
	var ends []uint32
	if slots > 0 {
		ends = make([]uint32, slots)
	}
	text := uint64(0)
	for i := range slots + 1 {
		n, more, ok := uvarint(p[at:], MaxLiteral-text)
		if !ok {
			return Template{}, 0, errLiterals
		}
		at += more
		text += n
		if i < slots {
			ends[i] = uint32(text)
		}
	}
	if text > uint64(len(p)-at) {
		return Template{}, 0, errLiterals
	}
	size = at + int(text)
	return Template{key: key[:size], text: p[at:size:size], ends: ends}, size, nil
}

// uvarint decodes a uvarint of at most limit in its shortest form, so that a template
// has one key only. ok is false if there is none.
func uvarint(p []byte, limit uint64) (v uint64, size int, ok bool) {
	v, size = binary.Uvarint(p)
	if size <= 0 || v > limit || size > 1 && p[size-1] == 0 {
		return 0, 0, false
	}
	return v, size, true
}
