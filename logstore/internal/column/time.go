package column

import "math/bits"

// A timeForm is the layout of times, the byte before their fraction, its digits, and
// whether a Z follows.
type timeForm struct {
	layout, fraction, digits, zulu uint8
}

// bits returns the second byte of a form.
func (f timeForm) bits() byte { return f.zulu<<7 | f.fraction<<4 | f.digits }

func formOfBytes(layout, bits byte) timeForm {
	return timeForm{layout, bits >> 4 & 7, bits & 15, bits >> 7}
}

func (f timeForm) valid() bool {
	if int(f.layout) >= len(layouts) || int(f.fraction) >= len(fractions) || f.digits > 9 {
		return false
	}
	l := &parsedLayouts[f.layout]
	return (f.digits > 0) == (f.fraction > 0) && (f.digits == 0 || l.fraction > 0) &&
		(fractions[f.fraction] != 'U' || f.layout == unixLayout) && !(f.layout == unixLayout && f.digits > 6)
}

// unit returns the nanoseconds of what the last digit counts.
func (f timeForm) unit() int64 {
	if parsedLayouts[f.layout].fraction == 0 {
		return daySeconds * 1e9
	}
	return int64(powers[9-f.digits])
}

// before returns the bytes between the seconds and the fraction, 0 or 1.
func (f timeForm) before() int {
	if f.digits == 0 || fractions[f.fraction] == 'U' {
		return 0
	}
	return 1
}

func (f timeForm) length() int {
	return parsedLayouts[f.layout].length + f.before() + int(f.digits) + int(f.zulu)
}

// parse returns the units from 1970 to the time p. rowTime is in nanoseconds.
func (f timeForm) parse(p []byte, rowTime int64) (units int64, ok bool) {
	return new(timeParser).parse(f, p, rowTime)
}

// A timeParser parses times of one form, and remembers the last second.
type timeParser struct {
	text   [40]byte // of the last second, without a fraction
	length int
	second int64
}

func (t *timeParser) parse(f timeForm, p []byte, rowTime int64) (units int64, ok bool) {
	if len(p) != f.length() {
		return 0, false
	}
	if f.zulu > 0 {
		if p[len(p)-1] != 'Z' {
			return 0, false
		}
		p = p[:len(p)-1]
	}
	l := &parsedLayouts[f.layout]
	if l.fraction == 0 {
		s, ok := l.seconds(p, floorDiv(rowTime, 1e9))
		return s / daySeconds, ok
	}
	head, tail, part := p[:l.fraction], p[l.fraction:], 0
	if f.digits > 0 {
		if f.before() > 0 && tail[0] != fractions[f.fraction] {
			return 0, false
		}
		tail = tail[f.before():]
		if part = parseField(tail[:f.digits], 'S'); part < 0 {
			return 0, false
		}
		tail = tail[f.digits:]
	}
	if t.length == 0 || string(t.text[:len(head)]) != string(head) || string(t.text[len(head):t.length]) != string(tail) {
		t.length = copy(t.text[copy(t.text[:], head):], tail) + len(head)
		if t.second, ok = l.seconds(t.text[:t.length], floorDiv(rowTime, 1e9)); !ok {
			t.length = 0
			return 0, false
		}
	}
	return t.second*int64(powers[f.digits]) + int64(part), true
}

// append appends the time of units. stamp is the memory of the last call.
func (f timeForm) append(dst []byte, units int64, stamp *timeStamp) []byte {
	l := &parsedLayouts[f.layout]
	if l.fraction == 0 {
		if dst = l.appendSeconds(dst, units*daySeconds); f.zulu > 0 {
			dst = append(dst, 'Z')
		}
		return dst
	}
	per := int64(powers[f.digits])
	if part := units - stamp.second*per; uint64(part) >= uint64(per) {
		stamp.set(f, l, units/per)
	}
	if f.digits > 0 {
		at := l.fraction + f.before()
		putDigits(stamp.text[at:at+int(f.digits)], uint64(units-stamp.second*per))
	}
	return append(dst, stamp.text[:f.length()]...)
}

// A timeStamp is the last second that was made text, with room for a fraction.
type timeStamp struct {
	second int64
	text   [stampSize]byte
}

const stampSize = 48

func (t *timeStamp) set(f timeForm, l *layout, second int64) {
	var room [40]byte
	text := l.appendSeconds(room[:0], second)
	t.second = second
	n := copy(t.text[:], text[:l.fraction])
	if f.before() > 0 {
		t.text[n] = fractions[f.fraction]
		n++
	}
	n += int(f.digits)
	n += copy(t.text[n:], text[l.fraction:])
	t.text[n] = 'Z' // which is left out with another form
}

// floorDiv returns a/b, rounded down. b is above 0.
func floorDiv(a, b int64) int64 {
	var q int64
	switch b { // division by what the compiler knows is a multiplication
	case 1e9:
		q = a / 1e9
	case 1e6:
		q = a / 1e6
	case 1e3:
		q = a / 1e3
	case 1:
		return a
	default:
		q = a / b
	}
	if q*b > a {
		q--
	}
	return q
}

// formWith returns the form of the time that p begins with, in one layout.
func formWith(p []byte, near int64, number uint8) (f timeForm, ok bool) {
	f.layout = number
	l := &parsedLayouts[number]
	if len(p) < l.length {
		return f, false
	}
	if l.fraction == l.length || l.fraction == 0 {
		if _, ok = l.seconds(p, near); ok && l.fraction > 0 {
			f.fraction, f.digits = fractionOf(p[l.fraction:])
		}
		return f, ok
	}
	if f.fraction, f.digits = fractionOf(p[l.fraction:]); f.digits > 0 {
		_, ok = f.parse(p[:min(len(p), f.length())], near*1e9)
		return f, ok
	}
	_, ok = l.seconds(p, near)
	return f, ok
}

// fractionOf returns which fraction p begins with, and its digits: 0 without one.
func fractionOf(p []byte) (fraction, digits uint8) {
	if len(p) < 2 {
		return 0, 0
	}
	for i, c := range fractions[1:4] {
		if p[0] != c {
			continue
		}
		n := 0
		for n < len(p)-1 && p[n+1]-'0' <= 9 {
			n++
		}
		if n >= 1 && n <= 9 {
			return uint8(i + 1), uint8(n)
		}
	}
	return 0, 0
}

// mayBeTime rules out most texts that do not begin with a time.
func mayBeTime(p []byte) bool {
	if len(p) < 8 {
		return false
	}
	switch c := p[0]; {
	case c-'0' <= 9:
		if p[1]-'0' > 9 {
			return false
		}
		switch p[2] {
		case '-', '/', ':', ' ', '.':
			return true
		}
		return p[3]-'0' <= 9 && (p[4]-'0' > 9 || len(p) > 12 && p[6]-'0' > 9 || len(p) > 14 && p[8]-'0' > 9)
	case c >= 'A' && c <= 'W':
		return p[3] == ' ' || p[3] == ','
	}
	return false
}

// timeKind fills the level's numbers with times relative to those of their rows, if the
// values are times.
func (e *Encoder) timeKind(v *values) (f timeForm, ok bool) {
	if f, ok = e.timeForm(v); !ok {
		return f, false
	}
	l := &e.levels[0]
	l.reset()
	unit := f.unit()
	most := v.len() / missShare
	var spread uint64
	var t timeParser
	for i := range v.len() {
		p := v.at(i)
		units, ok := t.parse(f, p, e.times[i])
		if !ok {
			if len(l.missAt) == most {
				return f, false
			}
			l.miss(i, p)
			continue
		}
		units -= floorDiv(e.times[i], unit)
		spread |= Zigzag(units)
		l.nums = append(l.nums, units)
	}
	// Seconds since 1970 that are far from their rows are as well kept as integers.
	return f, f.layout != unixLayout || bits.Len64(spread) < 40
}

// timeForm returns the form of most values: that of the first one, or of one amid them.
func (e *Encoder) timeForm(v *values) (f timeForm, ok bool) {
	for _, i := range [...]int{0, v.len() / 2} {
		if f, ok = e.timeFormOf(v, i); ok {
			break
		}
	}
	return f, ok
}

// timeFormOf returns the form of value i if most values have it.
func (e *Encoder) timeFormOf(v *values, i int) (f timeForm, ok bool) {
	p, at := v.at(i), e.times[i]
	if f, ok := unixForm(p, at); ok && e.mostFit(v, f) {
		return f, true
	}
	if !mayBeTime(p) {
		return f, false
	}
	for number := range unixLayout {
		f, ok := formWith(p, floorDiv(at, 1e9), uint8(number))
		if ok && f.length() == len(p)-1 && p[len(p)-1] == 'Z' {
			f.zulu = 1
		}
		if ok && f.length() == len(p) && e.mostFit(v, f) {
			return f, true
		}
	}
	return f, false
}

// mostFit reports whether most values are times of that form, by a sample.
func (e *Encoder) mostFit(v *values, f timeForm) bool {
	n := v.len()
	k := min(n, looks)
	fit := 0
	for j := range k {
		if _, ok := f.parse(v.at(j*n/k), e.times[j*n/k]); ok {
			fit++
		}
	}
	return fit >= k-k/missShare
}

// unixForm returns the form of p as seconds since 1970, if these are within a day of
// its row's.
func unixForm(p []byte, rowTime int64) (f timeForm, ok bool) {
	if len(p) < 10 || len(p) > 17 {
		return f, false
	}
	f.layout = unixLayout
	if len(p) > 10 {
		f.fraction, f.digits = fractionOf(p[10:])
		if f.digits == 0 {
			f.fraction, f.digits = uint8(len(fractions)-1), uint8(len(p)-10)
		}
	}
	if !f.valid() || f.length() != len(p) {
		return f, false
	}
	units, ok := f.parse(p, rowTime)
	d := units*(f.unit()/1000) - rowTime/1000
	return f, ok && d > -daySeconds*1e6 && d < daySeconds*1e6
}

func (e *Encoder) appendTimes(packed, text []byte, f timeForm) (_, _ []byte) {
	at := len(packed)
	packed = append(packed, byte(Time), f.layout, f.bits())
	packed, text = e.appendMisses(0, at, packed, text)
	packed, text = e.ints.append(packed, text, e.levels[0].nums)
	return e.appendPlaces(0, packed, text)
}

func (c *Column) openTimes(r *reader, depth int, head byte) error {
	p, err := take(&r.packed, 2)
	if err != nil {
		return err
	}
	c.form = formOfBytes(p[0], p[1])
	if head&^flagMiss != byte(Time) || depth > 0 || !c.form.valid() {
		return damaged("times of form %#x at depth %d, flags %#x", p, depth, head)
	}
	if len(r.times) != c.count {
		return damaged("%d times of rows for %d values", len(r.times), c.count)
	}
	fit, err := c.openMisses(r, depth, head)
	if err != nil {
		return err
	}
	if c.nums, err = r.ints(c.memory.nums.take(fit), fit); err != nil {
		return err
	}
	if err := c.openPlaces(r); err != nil {
		return err
	}
	unit := c.form.unit()
	end := c.form.end()
	k := 0
	var begin, whole int64 // the unit of the row's time that was divided last
	nums := c.nums
	for i, t := range r.times {
		if c.misses != nil && c.isMiss[i/64]>>(i%64)&1 != 0 {
			continue
		}
		if uint64(t-begin) >= uint64(unit) {
			whole = floorDiv(t, unit)
			begin = whole * unit
		}
		x := whole + nums[k]
		if uint64(x) >= uint64(end) {
			return damaged("a time of %d units of %d ns since 1970", x, unit)
		}
		nums[k] = x
		k++
	}
	c.stamp.second = -1
	return nil
}
