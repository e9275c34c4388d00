package column

import "bytes"

// An Op is what a [Test] asks of a value.
type Op uint8

const (
	Contains  Op = iota // the value has the text in it
	HasPrefix           // it begins with the text
	HasSuffix           // it ends with the text
	Equal               // it is the text
)

// A Test is a question to the values of a column.
type Test struct {
	Op   Op
	Text []byte
}

// Holds reports whether v passes the test.
func (t Test) Holds(v []byte) bool {
	switch t.Op {
	case Contains:
		return bytes.Contains(v, t.Text)
	case HasPrefix:
		return bytes.HasPrefix(v, t.Text)
	case HasSuffix:
		return bytes.HasSuffix(v, t.Text)
	default:
		return bytes.Equal(v, t.Text)
	}
}

// May reports whether a value may pass the test, by what is known without looking at
// them: false means that none does.
func (c *Column) May(t Test) bool { return true }

// Match sets the bits in dst of the values that pass the test. dst has at least
// (Count()+63)/64 words, value i is bit i%64 of word i/64; other bits stay as they are.
func (c *Column) Match(dst []uint64, t Test) {
	if !c.May(t) {
		return
	}
	v := c.room
	for i := range c.count {
		if v = c.AppendValue(v[:0], i); t.Holds(v) {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	c.room = v
}
