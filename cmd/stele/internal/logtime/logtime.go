// Package logtime finds the time that a line of a log names.
package logtime

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// A Parser finds times in lines. Many goroutines may use it.
type Parser struct {
	find func(line []byte) (int64, bool)
	zone *time.Location
	now  func() time.Time
	// anywhere is set for formats of which a time is looked for also behind blanks.
	anywhere bool
}

// Formats are the names that New takes beside layouts.
const Formats = "auto, iso, clf, syslog, unix, or a layout of Go's package time such as 2006-01-02 15:04:05"

// searched is how much of a line is searched for a time.
const searched = 512

// New returns a parser of a format, one of Formats. Times that name no zone are of zone.
func New(format string, zone *time.Location) (*Parser, error) {
	p := &Parser{zone: zone, now: time.Now}
	switch format {
	case "auto":
		p.find = p.auto
	case "iso":
		p.find = p.iso
	case "clf":
		p.find = p.clf
	case "syslog":
		p.find = p.syslog
	case "unix":
		p.find, p.anywhere = unixAnywhere, true
	default:
		if !strings.ContainsAny(format, "0123456789") || layoutHasNoTime(format) {
			return nil, setting.Wrong("logtime: format", format, Formats)
		}
		p.anywhere = true
		l := layout{text: format, hasYear: tells(format, 2012, 1, 2), hasDay: tells(format, 2006, 4, 10)}
		p.find = func(line []byte) (int64, bool) { return p.layout(line, l) }
	}
	return p, nil
}

// layoutHasNoTime reports whether a layout writes two different times alike.
func layoutHasNoTime(layout string) bool {
	a := time.Date(2006, 1, 2, 15, 4, 5, 123456789, time.UTC).Format(layout)
	return a == time.Date(2013, 12, 23, 8, 46, 59, 987654321, time.UTC).Format(layout)
}

// Find returns the time that a line names, in nanoseconds since the Unix epoch, from 0 to
// math.MaxInt64-1. A line that begins with blanks goes on with the one before, and names
// only a time that is right behind them; but for unix and layouts.
func (p *Parser) Find(line []byte) (ns int64, ok bool) {
	line = line[:min(len(line), searched)]
	text := bytes.TrimLeft(line, " \t")
	if p.anywhere || len(text) == len(line) || len(text) == 0 {
		return p.find(line)
	}
	if i := bytes.IndexFunc(text, func(c rune) bool { return c != '[' && c != '(' && c != '"' }); i < 0 || !isDigit(text[i]) && !isMonth(text[i:]) {
		return 0, false
	}
	if text = text[:min(len(text), longestTime)]; len(text) == longestTime {
		// A time behind the first word or two is another one.
		text = bytes.TrimRight(text, "0123456789")
	}
	return p.find(text)
}

// longestTime is the length of the longest time: 2027-01-15T08:00:00.123456789+02:00 and
// what may be around it.
const longestTime = 40

// isMonth reports whether a text begins with the name of a month or of a day of the week.
func isMonth(text []byte) bool {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDecMonTueWedThuFriSatSun"
	return len(text) > 3 && strings.Index(names, string(text[:3]))%3 == 0
}

// auto tries the formats in the order in which one is taken for another least often.
func (p *Parser) auto(line []byte) (int64, bool) {
	for _, find := range []func([]byte) (int64, bool){p.iso, p.clf, p.syslog, unixAtBegin} {
		if ns, ok := find(line); ok {
			return ns, true
		}
	}
	return 0, false
}

// iso finds a time by RFC 3339 and its kin: 2027-01-15T08:00:00.5Z, 2027/01/15 08:00:00,5.
func (p *Parser) iso(line []byte) (int64, bool) {
	for i := 0; i+19 <= len(line); i++ {
		if line[i] < '0' || line[i] > '9' || i > 0 && isDigit(line[i-1]) {
			continue
		}
		if ns, ok := p.isoAt(line[i:]); ok {
			return ns, true
		}
	}
	return 0, false
}

const isoShape = "dddd-dd-ddTdd:dd:dd"

func (p *Parser) isoAt(b []byte) (int64, bool) {
	if len(b) < len(isoShape) || b[4] != b[7] || b[4] != '-' && b[4] != '/' || b[10] != 'T' && b[10] != ' ' && b[10] != 't' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	for i := range isoShape {
		if isoShape[i] == 'd' && !isDigit(b[i]) {
			return 0, false
		}
	}
	year, month, day := number(b[0:4]), number(b[5:7]), number(b[8:10])
	hour, minute, second := number(b[11:13]), number(b[14:16]), number(b[17:19])
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	if day > 28 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false
	}
	rest := b[len(isoShape):]
	nanos, rest := fraction(rest)
	zone := p.zone
	if offset, ok := zoneOf(rest); ok {
		t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset)
		return inRange(t)
	}
	return inRange(time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone))
}

// fraction reads the digits behind a dot or a comma as nanoseconds.
func fraction(b []byte) (nanos int, rest []byte) {
	if len(b) < 2 || b[0] != '.' && b[0] != ',' || !isDigit(b[1]) {
		return 0, b
	}
	scale := 100_000_000
	i := 1
	for ; i < len(b) && isDigit(b[i]); i++ {
		nanos += int(b[i]-'0') * scale
		scale /= 10
	}
	return nanos, b[i:]
}

// zoneOf reads Z, UTC, GMT, +02:00, +0200 or +02, perhaps behind a space. Offsets are from
// -12:00 to +14:00.
func zoneOf(b []byte) (offset time.Duration, ok bool) {
	if len(b) > 0 && (b[0] == 'Z' || b[0] == 'z') && (len(b) == 1 || !isWord(b[1])) {
		return 0, true
	}
	b, spaced := bytes.CutPrefix(b, []byte(" "))
	for _, name := range []string{"UTC", "GMT"} {
		if rest, ok := bytes.CutPrefix(b, []byte(name)); ok && (len(rest) == 0 || !isWord(rest[0]) && rest[0] != '+' && rest[0] != '-') {
			return 0, true
		}
	}
	if len(b) < 3 || b[0] != '+' && b[0] != '-' || digits(b[1:]) < 2 {
		return 0, false
	}
	hours, minutes := number(b[1:3]), 0
	switch rest := b[3:]; {
	case digits(rest) == 2:
		minutes = number(rest[:2])
	case len(rest) > 2 && rest[0] == ':' && digits(rest[1:]) == 2:
		minutes = number(rest[1:3])
	case spaced || digits(rest) > 0:
		return 0, false // a number
	}
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if b[0] == '-' {
		offset = -offset
	}
	return offset, minutes < 60 && offset >= -12*time.Hour && offset <= 14*time.Hour
}

// clf finds the time of the common log format: [15/Jan/2027:08:00:00 +0000].
func (p *Parser) clf(line []byte) (int64, bool) {
	const layout = "[02/Jan/2006:15:04:05 -0700]"
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '[')
		if i < 0 || from+i+len(layout) > len(line) {
			return 0, false
		}
		from += i
		if t, err := time.Parse(layout, string(line[from:from+len(layout)])); err == nil {
			return inRange(t)
		}
		from++
	}
}

// syslog reads the time at the begin of a line, perhaps behind a priority: <34>Jan 15
// 08:00:00. It names no year: that of the newest such moment which is not more than a day
// ahead.
func (p *Parser) syslog(line []byte) (int64, bool) {
	if len(line) > 0 && line[0] == '<' {
		if i := bytes.IndexByte(line, '>'); i > 0 && i < 5 {
			line = line[i+1:]
		}
	}
	const layout = "Jan _2 15:04:05"
	if len(line) < len(layout) || line[0] < 'A' || line[0] > 'S' || line[3] != ' ' {
		return 0, false // without the cost of an error
	}
	t, err := time.ParseInLocation("2006 "+layout, "2000 "+string(line[:len(layout)]), p.zone) // 2000 has each day
	if err != nil {
		return 0, false
	}
	return p.newest(t)
}

// newest returns the newest moment of that day and time of the year that is not more than a
// day ahead.
func (p *Parser) newest(t time.Time) (int64, bool) {
	now := p.now().In(p.zone)
	for year := now.Year() + 1; year > now.Year()-9; year-- {
		d := time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
		if d.Day() == t.Day() && d.Before(now.Add(24*time.Hour)) {
			return inRange(d)
		}
	}
	return 0, false
}

// ofToday returns that time of today, or of yesterday if it is not yet.
func (p *Parser) ofToday(t time.Time) (int64, bool) {
	now := p.now().In(t.Location())
	d := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	if d.After(now.Add(time.Minute)) {
		d = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	}
	return inRange(d)
}

// unixAtBegin reads a number at the begin of a line.
func unixAtBegin(line []byte) (int64, bool) {
	n := digits(line)
	if n < 10 || n == len(line) && n > 19 {
		return 0, false
	}
	return unixNumber(line)
}

// unixAnywhere finds the first number that may be a time since 1970: of 10, 13, 16 or 19
// digits.
func unixAnywhere(line []byte) (int64, bool) {
	for i := 0; i < len(line); i++ {
		if !isDigit(line[i]) {
			continue
		}
		if ns, ok := unixNumber(line[i:]); ok {
			return ns, true
		}
		i += digits(line[i:])
	}
	return 0, false
}

// unixNumber reads seconds, perhaps with a fraction, or milliseconds, microseconds or
// nanoseconds, by the number of digits.
func unixNumber(b []byte) (int64, bool) {
	n := digits(b)
	if n != 10 && n != 13 && n != 16 && n != 19 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 64)
	if err != nil {
		return 0, false
	}
	for range (19 - n) / 3 {
		if v > math.MaxInt64/1000 {
			return 0, false
		}
		v *= 1000
	}
	nanos := 0
	if n == 10 {
		nanos, _ = fraction(b[n:])
	}
	if v > math.MaxInt64-1-int64(nanos) {
		return 0, false
	}
	return v + int64(nanos), true
}

// A layout is one of Go's package time.
type layout struct {
	text            string
	hasYear, hasDay bool
}

// tells reports whether a layout writes a day otherwise than January 2, 2006. Both must be the
// same day of the week, which tells neither the year nor the day.
func tells(layout string, year int, month time.Month, day int) bool {
	t := time.Date(2006, 1, 2, 15, 4, 5, 123456789, time.UTC)
	return t.Format(layout) != time.Date(year, month, day, 15, 4, 5, 123456789, time.UTC).Format(layout)
}

// layout finds a time of a layout: at each place of the line where one may begin.
func (p *Parser) layout(line []byte, l layout) (int64, bool) {
	text := string(line)
	for i := 0; i < len(text); i++ {
		if i > 0 && isWord(text[i-1]) && isWord(text[i]) {
			continue // within a word
		}
		t, ok := p.prefix(text[i:], l.text)
		switch {
		case !ok:
			continue
		case !l.hasDay:
			return p.ofToday(t)
		case !l.hasYear:
			return p.newest(t)
		}
		return inRange(t)
	}
	return 0, false
}

// prefix parses the begin of text.
func (p *Parser) prefix(text, layout string) (time.Time, bool) {
	t, err := time.ParseInLocation(layout, text, p.zone)
	if err == nil {
		return t, true
	}
	e, ok := err.(*time.ParseError)
	if !ok || !strings.HasPrefix(e.Message, ": extra text: ") {
		return t, false
	}
	extra, err := strconv.Unquote(strings.TrimPrefix(e.Message, ": extra text: "))
	if err != nil {
		return t, false
	}
	t, err = time.ParseInLocation(layout, strings.TrimSuffix(text, extra), p.zone)
	return t, err == nil
}

func inRange(t time.Time) (int64, bool) {
	if t.Unix() < 0 || t.Year() > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

func number(b []byte) (n int) {
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

func digits(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
