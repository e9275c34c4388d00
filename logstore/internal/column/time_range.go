package column

// singleSets has the set of each byte alone.
var singleSets = func() (s [256]byteSet) {
	for b := range s {
		s[b][b>>6] = 1 << (b & 63)
	}
	return s
}()

// PeekTimes is Peek for a column of times, by those of the rows: none is before low, nor after
// high, in nanoseconds.
func PeekTimes(packed []byte, low, high int64, t Test) Share {
	if len(packed) < 3 || packed[0] != byte(Time) {
		return Some
	}
	f := formOfBytes(packed[1], packed[2])
	r, ok := rangeOf(packed[3:])
	if t = t.plain(); !ok || !f.valid() || !t.isASCII() || len(t.Text) == 0 {
		return Some
	}
	first, last, end := floorDiv(low, f.unit()), floorDiv(high, f.unit()), f.end()
	if min(first, r.low) < -end || max(last, r.high) >= end {
		return Some
	}
	if first, last = first+r.low, last+r.high; first < 0 || last < first || last >= end {
		return Some
	}
	var room [maxTime]*byteSet
	s := f.shape(room[:0])
	f.narrow(s, first, last)
	return s.share(t)
}

// end returns the first units that are no time.
func (f timeForm) end() int64 {
	if f.digits > 0 {
		return endOfTimes * int64(powers[f.digits])
	}
	return endOfTimes / daySeconds * (daySeconds * 1_000_000_000 / f.unit())
}

// narrow leaves in the shape of times what they have from one to another, in units: the same
// fields, and the same first digits of the largest one that differs.
func (f timeForm) narrow(s shape, first, last int64) {
	var room [2][maxTime]byte
	a, b := f.append(room[0][:0], first, &timeStamp{second: -1}), f.append(room[1][:0], last, &timeStamp{second: -1})
	fix := func(from, width int) {
		for i := from; i < from+width && a[i] == b[i]; i++ {
			s[i] = &singleSets[a[i]]
		}
	}
	l := &parsedLayouts[f.layout]
	for _, field := range l.fields {
		if !f.ordered(field.letter, first, last) {
			continue
		}
		at := int(field.at)
		if l.fraction > 0 && at >= l.fraction {
			at += f.before() + int(f.digits)
		}
		fix(at, int(field.width))
	}
	if f.digits > 0 && f.ordered('.', first, last) {
		fix(l.fraction+f.before(), int(f.digits))
	}
}

// ordered reports whether a field of times from one to another, in units, has the order of the
// times, since no larger field differs; also where a time does not have that. '.' is the
// fraction.
func (f timeForm) ordered(letter byte, first, last int64) bool {
	day := daySeconds * 1_000_000_000 / f.unit()
	in := func(parts int64) bool { return first/max(day/parts, 1) == last/max(day/parts, 1) }
	switch letter {
	case 'Y', 'U':
		return true
	case 'a':
		return in(1)
	case 'H':
		return in(1)
	case 'M':
		return in(24)
	case 'S':
		return in(24 * 60)
	case '.':
		return in(daySeconds)
	}
	year, month, _ := dateOf(int(first / day))
	year2, month2, _ := dateOf(int(last / day))
	switch letter {
	case 'y', 'm':
		return year == year2
	case 'b', 'd', 'e':
		return year == year2 && month == month2
	}
	return true // it stands for itself
}
