package filter

import (
	"bytes"
	"unicode/utf8"
)

// Literals has the literals of the templates of a dictionary, folded, so that the
// keys of a needle are found in all of them at once. It is immutable but for Add,
// and takes about the memory of the literals. The zero value has no templates.
type Literals struct {
	text []byte   // each literal ends with a byte that no key has
	ends []uint32 // by template
	full []bool   // by template: it has no slot
}

const literalEnd = 0

// Add adds a template, given by its literals; its number is that of the templates
// before. The text of all must be less than 4 GiB.
func (l *Literals) Add(literals func(yield func([]byte) bool)) {
	n := 0
	for p := range literals {
		l.text = append(appendFolded(l.text, p), literalEnd)
		n++
	}
	l.full = append(l.full, n < 2)
	l.ends = append(l.ends, uint32(len(l.text)))
}

// appendFolded appends a text with the runes of its tokens folded.
func appendFolded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if f := asciiFold[c]; f != 0 {
				c = f
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if size == 1 {
			dst = append(dst, c)
		} else {
			_, f := classify(r)
			dst = utf8.AppendRune(dst, f)
		}
		i += size
	}
	return dst
}

// Len returns the number of templates.
func (l *Literals) Len() int { return len(l.ends) }

// Lacks appends for each template the set of the needle's keys that its literals
// lack, a bit for each: a line of the template that matches the needle has those
// keys in the filter of its block's variables. Without slots, such a line must have
// all keys in its metadata. The sets are for MayVariables.
func (l *Literals) Lacks(dst []uint64, n Needle) []uint64 {
	from, all := len(dst), uint64(1)<<len(n.variables)-1
	for range l.ends {
		dst = append(dst, all)
	}
	for i, k := range n.variables {
		l.find(k.text, func(template int) { dst[from+template] &^= 1 << i })
	}
	for t, full := range l.full {
		if full && dst[from+t] != 0 {
			dst[from+t] = all
		}
	}
	return dst
}

// find calls found for each template with a literal that contains a folded text.
func (l *Literals) find(text []byte, found func(template int)) {
	t := 0
	for at := 0; at < len(l.text); {
		i := bytes.Index(l.text[at:], text)
		if i < 0 {
			return
		}
		for at += i; int(l.ends[t]) <= at; {
			t++
		}
		found(t)
		at = int(l.ends[t]) // the next template
	}
}
