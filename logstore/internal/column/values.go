package column

// values are texts in a row.
type values struct {
	text   []byte
	starts []uint32 // of each value and one more, len(text); or nothing at all
}

func (v *values) reset() { v.text, v.starts = v.text[:0], v.starts[:0] }

func (v *values) weight() int64 { return int64(cap(v.text)) + 4*int64(cap(v.starts)) }

func (v *values) len() int { return max(len(v.starts)-1, 0) }

func (v *values) add(p []byte) {
	if len(v.starts) == 0 {
		v.starts = append(v.starts, 0)
	}
	v.text = appendShort(v.text, p)
	v.starts = append(v.starts, uint32(len(v.text)))
}

func (v *values) at(i int) []byte { return v.text[v.starts[i]:v.starts[i+1]] }

// short is the most bytes that appendShort copies at once.
const short = 16

// appendShort appends p. Most values are short: they are copied with bytes behind them,
// which the next one overwrites, and that is cheaper than a call of memmove.
func appendShort(dst, p []byte) []byte {
	n := len(dst)
	if len(p) <= short && cap(p) >= short && cap(dst)-n >= short {
		*(*[short]byte)(dst[n : n+short]) = *(*[short]byte)(p[:short])
		return dst[:n+len(p)]
	}
	return append(dst, p...)
}
