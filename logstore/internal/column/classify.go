package column

// looks is how many values of a column are looked at to find its kind.
const looks = 24

// missShare: at most one value of so many may not fit a kind.
const missShare = 8

// sampleAt calls f for some values, spread over all.
func sampleAt(v *values, f func(p []byte)) {
	n := v.len()
	k := min(n, looks)
	for i := range k {
		f(v.at(i * n / k))
	}
}

// The classes of bytes, as bits.
const (
	classDigit = 1 << iota
	classLower // a to f
	classUpper // A to F
	classPoint
	classMinus
	classOther
)

var classes = func() (t [256]byte) {
	for c := range t {
		t[c] = classOther
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = classDigit
	}
	for c := range 6 {
		t['a'+c], t['A'+c] = classLower, classUpper
	}
	t['.'], t['-'] = classPoint, classMinus
	return t
}()

func classesOf(p []byte) (m byte) {
	for _, c := range p {
		m |= classes[c]
	}
	return m
}

// A census counts what values look like.
type census struct {
	total, integers, decimals, addresses, lower, upper int

	zeros   int // the longest integer that begins with zeros
	scale   int // the most digits after a point
	longest int // of hexadecimal numbers
}

func (s *census) look(p []byte) {
	s.total++
	if len(p) > maxDigits+2 {
		return
	}
	switch m := classesOf(p); m {
	case classDigit:
		s.digits(p)
	case classDigit | classLower, classLower:
		if len(p) <= 16 {
			s.lower++
			s.longest = max(s.longest, len(p))
		}
	case classDigit | classUpper, classUpper:
		if len(p) <= 16 {
			s.upper++
			s.longest = max(s.longest, len(p))
		}
	case classDigit | classPoint:
		if _, ok := parseIPv4(p); ok {
			s.addresses++
			return
		}
		fallthrough
	case classDigit | classMinus, classDigit | classMinus | classPoint:
		if _, scale, ok := parseDecimal(p); ok {
			s.decimals++
			s.scale = max(s.scale, scale)
			if scale == 0 {
				s.integers++
			}
		}
	}
}

// digits looks at a value of digits alone.
func (s *census) digits(p []byte) {
	if len(p) <= 16 {
		s.lower++
		s.upper++
		s.longest = max(s.longest, len(p))
	}
	if len(p) >= maxDigits {
		if _, ok := parseInteger(p, len(p)); !ok {
			return
		}
	}
	s.integers++
	if p[0] != '0' || len(p) == 1 {
		s.decimals++
		return
	}
	s.zeros = max(s.zeros, len(p))
}

// classify returns the kind of numbers that most values look like, or Text,
// and its width, or the digits after the point.
func classify(v *values) (kind Kind, param int) {
	var s census
	sampleAt(v, s.look)
	switch enough := s.total - s.total/missShare; {
	case s.integers >= enough:
		return Integer, max(s.zeros, 1)
	case s.decimals >= enough:
		return Decimal, s.scale
	case s.addresses >= enough:
		return IPv4, 0
	case s.lower >= enough:
		return Hex, hexWidth(v, s.longest)
	case s.upper >= enough:
		return HexUpper, hexWidth(v, s.longest)
	}
	return Text, 0
}

// hexWidth returns the width of hexadecimal numbers: the longest, if one of that length
// begins with 0, else 1.
func hexWidth(v *values, longest int) (width int) {
	width = 1
	for i := range v.len() {
		if p := v.at(i); len(p) == longest && p[0] == '0' && longest > 1 {
			return longest
		}
	}
	return width
}

// parse fills the level's numbers. It returns false if too many values do not fit.
func (e *Encoder) parse(depth int, v *values, kind Kind, param int) bool {
	l := &e.levels[depth]
	l.reset()
	n := v.len()
	most := n / missShare
	if !e.mayNest(depth) {
		most = 0
	}
	from := 0
	if kind == Integer {
		from = l.parseIntegers(v, param)
	}
	for i := from; i < n; i++ {
		p := v.at(i)
		x, scale, ok := parseNumber(p, kind, param)
		if !ok {
			if len(l.missAt) == most {
				return false
			}
			l.miss(i, p)
			continue
		}
		l.nums = append(l.nums, x)
		if kind == Decimal {
			l.scales = append(l.scales, int64(scale))
		}
	}
	return true
}

// parseIntegers fills the level's numbers with short integers of digits alone, up to the
// first value that is another. It returns how many there are.
func (l *level) parseIntegers(v *values, width int) int {
	text, starts, nums := v.text, v.starts, l.nums
	for i := range len(starts) - 1 {
		p := text[starts[i]:starts[i+1]]
		if len(p) == 0 || len(p) < width || len(p) >= maxDigits || p[0] == '0' && len(p) > max(width, 1) {
			l.nums = nums
			return i
		}
		u := int64(0)
		bad := byte(0)
		for _, c := range p {
			c -= '0'
			bad = max(bad, c)
			u = u*10 + int64(c)
		}
		if bad > 9 {
			l.nums = nums
			return i
		}
		nums = append(nums, u)
	}
	l.nums = nums
	return len(nums)
}

// parseNumber returns the number of p, and for decimals how many digits after the point
// the column's scale has more.
func parseNumber(p []byte, kind Kind, param int) (x int64, scale int, ok bool) {
	switch kind {
	case Integer:
		x, ok = parseInteger(p, param)
	case Hex:
		x, ok = parseHex(p, param, &lowerDigits)
	case HexUpper:
		x, ok = parseHex(p, param, &upperDigits)
	case IPv4:
		x, ok = parseIPv4(p)
	case Decimal:
		if x, scale, ok = parseDecimal(p); !ok || scale > param {
			return 0, 0, false
		}
		scale = param - scale
		y := x * int64(powers[scale])
		ok = y/int64(powers[scale]) == x
		x = y
	}
	return x, scale, ok
}

// classifyBytes returns UUID or HexBytes if most values look like it, else Text.
func classifyBytes(v *values) Kind {
	var uuids, hexes, total int
	length := len(v.at(0))
	sampleAt(v, func(p []byte) {
		total++
		var room [hexBytesMost]byte
		if _, ok := appendUUIDBytes(room[:0], p); ok {
			uuids++
		}
		if len(p) == length && len(p)%2 == 0 && len(p) <= 2*hexBytesMost && len(p) > 0 {
			if _, ok := appendHexBytes(room[:0], p); ok {
				hexes++
			}
		}
	})
	enough := total - total/missShare
	switch {
	case uuids >= enough:
		return UUID
	case hexes >= enough:
		return HexBytes
	}
	return Text
}

// hexBytesMost is the most bytes of a value of HexBytes.
const hexBytesMost = 64

// parseBytes fills the level's raw bytes. It returns the bytes a value, and false if too
// many values do not fit.
func (e *Encoder) parseBytes(depth int, v *values, kind Kind) (width int, ok bool) {
	l := &e.levels[depth]
	l.reset()
	n := v.len()
	most := n / missShare
	if !e.mayNest(depth) {
		most = 0
	}
	width = 16
	if kind == HexBytes {
		width = len(v.at(0)) / 2
	}
	for i := range n {
		p, ok := v.at(i), false
		before := len(l.raw)
		if kind == UUID {
			l.raw, ok = appendUUIDBytes(l.raw, p)
		} else if len(p) == 2*width {
			l.raw, ok = appendHexBytes(l.raw, p)
		}
		if !ok {
			l.raw = l.raw[:before]
			if len(l.missAt) == most {
				return 0, false
			}
			l.miss(i, p)
		}
	}
	return width, true
}
