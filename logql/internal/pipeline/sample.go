package pipeline

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore"
)

// A sample is a line of a template that has, for each variable, a number that is nowhere else:
// mark and the number of the slot in five digits. Within texts of any kind digits are text, so
// a parser of lines finds in a value the numbers of the slots of which lines have it.
type sample struct {
	line   []byte
	starts []int // of the variables in line
}

// mark begins with a digit that is not in it again, so that no text before it makes another one
// that overlaps it.
const (
	mark       = "7301964"
	markDigits = 5
	markLen    = len(mark) + markDigits
)

// digitEscape begins an escape of a digit.
var digitEscape = []byte(`\u003`)

// newSample returns nil for a template whose texts may look like a variable of the sample.
func newSample(t logstore.LineTemplate) *sample {
	s := &sample{}
	for i := range t.Slots() + 1 {
		text := t.Literal(i)
		if bytes.Contains(text, []byte(mark)) || bytes.Contains(text, digitEscape) {
			return nil
		}
		s.line = append(s.line, text...)
		if i < t.Slots() {
			s.starts = append(s.starts, len(s.line))
			s.line = fmt.Appendf(s.line, "%s%0*d", mark, markDigits, i)
		}
	}
	s.line = slices.Clip(s.line)
	return s
}

func (s *sample) slots() int { return len(s.starts) }

// pieces returns of what a value of the sample is made.
func (s *sample) pieces(value []byte) (list []logstore.Piece, ok bool) {
	for len(value) > 0 {
		at := bytes.Index(value, []byte(mark))
		if at < 0 {
			at = len(value)
		}
		if at > 0 {
			list = append(list, logstore.Piece{Text: bytes.Clone(value[:at])})
		}
		if value = value[at:]; len(value) == 0 {
			break
		}
		if len(value) < markLen {
			return nil, false
		}
		slot := 0
		for _, c := range value[len(mark):markLen] {
			if !isDigit(c) {
				return nil, false
			}
			slot = slot*10 + int(c-'0')
		}
		if slot >= s.slots() {
			return nil, false
		}
		list = append(list, logstore.Piece{Slot: slot})
		value = value[markLen:]
	}
	return list, true
}

// within returns the slots whose variables begin in line[from:to].
func (s *sample) within(from, to int) (first, end int) {
	first, _ = slices.BinarySearch(s.starts, from)
	end, _ = slices.BinarySearch(s.starts, to)
	return first, end
}

// cuts reports whether an escape of line[from:to] goes on in a variable, or behind one that is
// empty: half of a surrogate pair does.
func (s *sample) cuts(from, to int) bool {
	for i := from; i < to; i++ {
		if s.line[i] != '\\' {
			continue
		}
		size := escapeLen(s.line[i:to])
		end := i + size
		if isHighSurrogate(s.line[i:to]) {
			end++
		}
		if first, last := s.within(i+1, end); first < last {
			return true
		}
		i += size - 1
	}
	return false
}

// escapeLen returns the length of the escape at the beginning of raw.
func escapeLen(raw []byte) int {
	if len(raw) > 1 && raw[1] == 'u' {
		return 6
	}
	return 2
}

// isHighSurrogate reports whether raw begins with the escape of the first half of a pair.
func isHighSurrogate(raw []byte) bool {
	return len(raw) >= 4 && raw[1] == 'u' && raw[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), raw[3]) >= 0
}

// bytesBut returns the set of all bytes but those of a text.
func bytesBut(text string) logstore.ByteSet {
	var set logstore.ByteSet
	for c := range 256 {
		if !bytes.Contains([]byte(text), []byte{byte(c)}) {
			set.Add(byte(c), byte(c))
		}
	}
	return set
}

// bytesOf returns the set of the bytes of texts.
func bytesOf(texts ...string) logstore.ByteSet {
	var set logstore.ByteSet
	for _, text := range texts {
		for i := range len(text) {
			set.Add(text[i], text[i])
		}
	}
	return set
}

func notEmpty(variable []byte) bool { return len(variable) > 0 }
