package column

// Times in lines. A layout is made of fields of fixed width, and other bytes that stand
// for themselves:
//
//	Y  year, 4 digits        d  day, 2 digits                     H  hour, 2 digits
//	y  year from 2000 on, 2  e  day, 2 bytes, padded with a blank M  minute, 2 digits
//	m  month, 2 digits       a  Mon, Tue, ...: the day of week    S  second, 2 digits
//	b  Jan, Feb, ...         U  seconds since 1970, 10 digits
//
// A fraction of a second may follow S or U: see fractions. The numbers of layouts are
// part of the format.
var layouts = [...]string{
	0:  "Y-m-dTH:M:S",
	1:  "Y-m-d H:M:S",
	2:  "Y/m/d H:M:S",
	3:  "y/m/d H:M:S",
	4:  "m-d H:M:S",
	5:  "H:M:S",
	6:  "Y-m-d_H:M:S",
	7:  "ymd HMS",
	8:  "Ymd HMS",
	9:  "YmdTHMS",
	10: "d/b/Y:H:M:S",
	11: "d/b/Y H:M:S",
	12: "d b Y H:M:S",
	13: "b e H:M:S",
	14: "b d H:M:S",
	15: "a b e H:M:S Y",
	16: "a b d H:M:S Y",
	17: "a, d b Y H:M:S",
	18: "m/d/Y H:M:S",
	19: "d.m.Y H:M:S",
	20: "m.d H:M:S",
	21: "Y-m-d-H.M.S",
	22: "Ymd-H:M:S",
	23: "md H:M:S",
	24: "Y-m-d",
	25: "Y.m.d",
	26: "Y/m/d",
	27: "U",
}

// fractions are the bytes between seconds and their fraction: none, for layouts without a
// fraction; then those of the fractions; 'U' for digits that follow at once, only after U.
var fractions = [...]byte{0, '.', ',', ':', 'U'}

const unixLayout = 27

// A layout says where the fields of a time are.
type layout struct {
	fields   []layoutField
	length   int    // without a fraction
	fraction int    // where it is, 0 if there can be none
	has      string // the letters of the fields
}

type layoutField struct {
	letter byte
	at     uint8
	width  uint8
}

var fieldWidths = map[byte]int{'Y': 4, 'y': 2, 'm': 2, 'b': 3, 'd': 2, 'e': 2, 'a': 3, 'H': 2, 'M': 2, 'S': 2, 'U': 10}

var parsedLayouts = func() (t [len(layouts)]layout) {
	for i, s := range layouts {
		l := &t[i]
		for k := range len(s) {
			width := fieldWidths[s[k]]
			if width == 0 || k > 0 && s[k] == 'T' {
				width = 1
			} else {
				l.has += s[k : k+1]
			}
			l.fields = append(l.fields, layoutField{s[k], uint8(l.length), uint8(width)})
			l.length += width
			if s[k] == 'S' || s[k] == 'U' {
				l.fraction = l.length
			}
		}
	}
	return t
}()

const (
	monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"
	dayNames   = "SunMonTueWedThuFriSat"

	daySeconds = 24 * 60 * 60

	// endOfTimes is the first second after the times that are parsed: 2200.
	endOfTimes = 7_258_118_400
)

// daysOf returns the days from 1970 to a date.
func daysOf(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 719469
}

// dateOf reverses daysOf.
func dateOf(days int) (year, month, day int) {
	z := days + 719468
	era := z / 146097
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month, day = yoe+era*400, mp+3, doy-(153*mp+2)/5+1
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

var monthDays = [...]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func validDate(year, month, day int) bool {
	return month >= 1 && month <= 12 && day >= 1 && day <= monthDays[month] &&
		(month != 2 || day < 29 || year%4 == 0 && (year%100 != 0 || year%400 == 0))
}

// A clock has the fields of a time. One that the time lacks is below 0.
type clock struct {
	year, month, day, weekday, hour, minute, second int
}

// seconds returns the seconds since 1970 of the time that p begins with, without its
// fraction. near is a time close to it, in seconds, for what p does not tell.
func (l *layout) seconds(p []byte, near int64) (s int64, ok bool) {
	if len(p) < l.length {
		return 0, false
	}
	if l == &parsedLayouts[unixLayout] {
		s, ok = parseInteger(p[:l.length], l.length)
		return s, ok && s < endOfTimes
	}
	t := clock{year: -1, month: -1, weekday: -1}
	for _, f := range l.fields {
		if f.width == 1 {
			if p[f.at] != f.letter {
				return 0, false
			}
			continue
		}
		x := parseField(p[f.at:f.at+f.width], f.letter)
		if x < 0 {
			return 0, false
		}
		t.set(f.letter, x)
	}
	if t.hour > 23 || t.minute > 59 || t.second > 59 {
		return 0, false
	}
	s = int64(t.hour*3600 + t.minute*60 + t.second)
	if t.month < 0 {
		return nearest(s, near, daySeconds)
	}
	days, ok := t.days(near)
	return s + int64(days)*daySeconds, ok
}

func (t *clock) set(letter byte, x int) {
	switch letter {
	case 'Y':
		t.year = x
	case 'y':
		t.year = x + 2000
	case 'm', 'b':
		t.month = x
	case 'd', 'e':
		t.day = x
	case 'a':
		t.weekday = x
	case 'H':
		t.hour = x
	case 'M':
		t.minute = x
	case 'S':
		t.second = x
	}
}

// days returns the days since 1970. near is as of seconds.
func (t *clock) days(near int64) (days int, ok bool) {
	year := t.year
	if year < 0 {
		year = nearestYear(t.month, t.day, near)
	}
	if year < 1970 || year >= 2200 || !validDate(year, t.month, t.day) {
		return 0, false
	}
	days = daysOf(year, t.month, t.day)
	return days, t.weekday < 0 || t.weekday == (days+4)%7
}

// nearest returns s, a time of day, on the day that brings it closest to near.
func nearest(s, near, day int64) (int64, bool) {
	if near < 0 || near >= endOfTimes {
		return 0, false
	}
	s += near / day * day
	if s-near > day/2 {
		s -= day
	} else if near-s > day/2 {
		s += day
	}
	return s, s >= 0 && s < endOfTimes
}

// nearestYear returns the year that brings the date closest to near.
func nearestYear(month, day int, near int64) int {
	if near < 0 || near >= endOfTimes || month > 12 {
		return -1
	}
	days := int(near / daySeconds)
	year, _, _ := dateOf(days)
	switch d := daysOf(year, month, day) - days; {
	case d > 183:
		return year - 1
	case d < -183:
		return year + 1
	}
	return year
}

// parseField returns the number of a field, or less than 0.
func parseField(p []byte, letter byte) int {
	switch letter {
	case 'b':
		for i := 0; i < len(monthNames); i += 3 {
			if string(p) == monthNames[i:i+3] {
				return i/3 + 1
			}
		}
		return -1
	case 'a':
		for i := 0; i < len(dayNames); i += 3 {
			if string(p) == dayNames[i:i+3] {
				return i / 3
			}
		}
		return -1
	case 'e':
		if p[0] == ' ' {
			p = p[1:]
		} else if p[0] == '0' {
			return -1
		}
	}
	x := 0
	bad := byte(0)
	for _, c := range p {
		c -= '0'
		bad = max(bad, c)
		x = x*10 + int(c)
	}
	if bad > 9 {
		return -1
	}
	return x
}

// appendSeconds appends a time without its fraction.
func (l *layout) appendSeconds(dst []byte, s int64) []byte {
	days, second := int(s/daySeconds), int(s%daySeconds)
	year, month, day := dateOf(days)
	for _, f := range l.fields {
		switch {
		case f.width == 1:
			dst = append(dst, f.letter)
		case f.letter == 'b':
			dst = append(dst, monthNames[3*month-3:3*month]...)
		case f.letter == 'a':
			k := (days + 4) % 7
			dst = append(dst, dayNames[3*k:3*k+3]...)
		case f.letter == 'Y':
			dst = appendTwo(appendTwo(dst, year/100), year%100)
		case f.letter == 'y':
			dst = appendTwo(dst, year%100)
		case f.letter == 'm':
			dst = appendTwo(dst, month)
		case f.letter == 'd':
			dst = appendTwo(dst, day)
		case f.letter == 'e':
			if dst = appendTwo(dst, day); day < 10 {
				dst[len(dst)-2] = ' '
			}
		case f.letter == 'H':
			dst = appendTwo(dst, second/3600)
		case f.letter == 'M':
			dst = appendTwo(dst, second/60%60)
		case f.letter == 'S':
			dst = appendTwo(dst, second%60)
		case f.letter == 'U':
			dst = appendInteger(dst, s, 10)
		}
	}
	return dst
}

func appendTwo(dst []byte, x int) []byte { return append(dst, twoDigits[2*x], twoDigits[2*x+1]) }
