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

// classify returns the kind of numbers that most values look like, Text if there is none,
// and its width, or the digits after the point.
func classify(v *values) (kind Kind, param int) {
	var integers, lower, upper, decimals, addresses, total, zeros, digits, longest int
	sampleAt(v, func(p []byte) {
		total++
		if _, ok := parseInteger(p, len(p)); ok || len(p) > 1 && p[0] == '-' {
			if _, ok := parseInteger(p, 1); ok {
				integers++
			} else if ok = p[0] == '0'; ok {
				integers++
				zeros = max(zeros, len(p))
			}
		}
		if _, scale, ok := parseDecimal(p); ok {
			decimals++
			digits = max(digits, scale)
		}
		if _, ok := parseIPv4(p); ok {
			addresses++
		}
		if _, ok := parseHex(p, len(p), &lowerDigits); ok {
			lower++
			longest = max(longest, len(p))
		}
		if _, ok := parseHex(p, len(p), &upperDigits); ok {
			upper++
			longest = max(longest, len(p))
		}
	})
	enough := total - total/missShare
	switch {
	case integers >= enough:
		return Integer, max(zeros, 1)
	case decimals >= enough:
		return Decimal, digits
	case addresses >= enough:
		return IPv4, 0
	case lower >= enough:
		return Hex, hexWidth(v, longest)
	case upper >= enough:
		return HexUpper, hexWidth(v, longest)
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
	for i := range n {
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
