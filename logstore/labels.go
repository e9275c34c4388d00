package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// A Label is a name and its value.
type Label struct{ Name, Value string }

// Labels identify a stream: a set of labels without empty values. Labels are
// comparable: equal sets are ==, and may be map keys. The zero value is the
// empty set.
type Labels struct{ enc string }

// MaxLabelBytes bounds the encoded size of one set: names, values, and a few
// bytes of length for each.
const MaxLabelBytes = 64 << 10

// ErrLabels reports an invalid set of labels.
var ErrLabels = errors.New("not a set of labels")

// NewLabels makes a set of labels, given in any order. Labels with empty values
// are left out. Names must be unique and not empty; names and values must be
// UTF-8.
func NewLabels(labels ...Label) (Labels, error) {
	sorted := slices.Clone(labels)
	slices.SortFunc(sorted, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	var enc []byte
	for i, l := range sorted {
		switch {
		case l.Name == "":
			return Labels{}, fmt.Errorf("logstore: %w: the label with value %q has no name", ErrLabels, l.Value)
		case i > 0 && l.Name == sorted[i-1].Name:
			return Labels{}, fmt.Errorf("logstore: %w: %q is there twice", ErrLabels, l.Name)
		case !utf8.ValidString(l.Name) || !utf8.ValidString(l.Value):
			return Labels{}, fmt.Errorf("logstore: %w: %q=%q is not UTF-8", ErrLabels, l.Name, l.Value)
		case l.Value == "":
			continue
		}
		enc = appendString(appendString(enc, l.Name), l.Value)
	}
	if len(enc) > MaxLabelBytes {
		return Labels{}, fmt.Errorf("logstore: %w: %d bytes; want at most %d", ErrLabels, len(enc), MaxLabelBytes)
	}
	return Labels{string(enc)}, nil
}

// MustLabels is NewLabels of alternating names and values. It panics on an
// error: it is for labels that are constants of a program.
func MustLabels(namesAndValues ...string) Labels {
	if len(namesAndValues)%2 != 0 {
		panic("logstore: MustLabels: a name without a value")
	}
	var labels []Label
	for pair := range slices.Chunk(namesAndValues, 2) {
		labels = append(labels, Label{pair[0], pair[1]})
	}
	l, err := NewLabels(labels...)
	if err != nil {
		panic(err.Error())
	}
	return l
}

// Get returns the value of the named label, "" if it is missing.
func (l Labels) Get(name string) string {
	for n, v := range l.All() {
		if n == name {
			return v
		}
	}
	return ""
}

// All ranges over names and values, ordered by name.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for rest := l.enc; rest != ""; {
			var name, value string
			name, rest = cutString(rest)
			value, rest = cutString(rest)
			if !yield(name, value) {
				return
			}
		}
	}
}

// Len returns the number of labels.
func (l Labels) Len() int {
	n := 0
	for range l.All() {
		n++
	}
	return n
}

// Clone returns a copy with memory of its own, for labels that are valid for a while
// only.
func (l Labels) Clone() Labels { return Labels{strings.Clone(l.enc)} }

// Compare returns a negative number if l comes before other in the order of results, a
// positive one if it comes after it, and 0 if they are equal: by the first name, its
// value, the second name, and so on; where one of them ends, it comes first.
func (l Labels) Compare(other Labels) int {
	a, b := l.enc, other.enc
	if a == b {
		return 0
	}
	for a != "" && b != "" {
		var x, y string
		x, a = cutString(a)
		y, b = cutString(b)
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

// The encoding, in the WAL and in segments: for each label, by name, the length
// of the name (uvarint), the name, the length of the value, the value.

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutString cuts a string off a valid encoding. Of another one it cuts nothing, and
// leaves nothing.
func cutString(enc string) (s, rest string) {
	n, shift := uint(0), 0
	for i := 0; i < len(enc); i++ {
		n |= uint(enc[i]&0x7f) << shift
		if enc[i] < 0x80 {
			if enc = enc[i+1:]; n > uint(len(enc)) {
				return "", ""
			}
			return enc[:n], enc[n:]
		}
		shift += 7
	}
	return "", ""
}

// parseLabels verifies an encoding read from a file.
func parseLabels(enc string) (Labels, error) {
	if err := checkLabels(enc); err != nil {
		return Labels{}, err
	}
	return Labels{enc}, nil
}

// checkLabels returns an error for an encoding that NewLabels does not make. It
// allocates nothing else.
func checkLabels(enc string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrLabels, why) }
	if len(enc) > MaxLabelBytes {
		return bad("too long")
	}
	last := ""
	for rest := enc; rest != ""; {
		var pair [2]string
		for i := range pair {
			n, w := uvarint(rest)
			if w <= 0 || w > 1 && rest[w-1] == 0 || n == 0 || n > uint64(len(rest)-w) {
				return bad("a length is wrong")
			}
			pair[i], rest = rest[w:w+int(n)], rest[w+int(n):]
			if !utf8.ValidString(pair[i]) {
				return bad("not UTF-8")
			}
		}
		if pair[0] <= last {
			return bad("names are not in order")
		}
		last = pair[0]
	}
	return nil
}

// uvarint is binary.Uvarint of a string.
func uvarint(s string) (n uint64, w int) {
	if s != "" && s[0] < 0x80 {
		return uint64(s[0]), 1
	}
	return binary.Uvarint(Labels{s}.bytes())
}

// bytes returns the encoding, which must not be changed.
func (l Labels) bytes() []byte { return unsafe.Slice(unsafe.StringData(l.enc), len(l.enc)) }
