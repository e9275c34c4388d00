package logs

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A logTemplate is a line to be filled in.
type logTemplate []logPart

// A logPart is a piece of a line. What its fields mean depends on kind; from and
// to refer to logSystems.bytes.
type logPart struct {
	kind     logKind
	digits   uint8  // of an id; logOf: which id decides
	count    uint16 // of words
	from, to uint32
}

type logKind uint8

const (
	logText   logKind = iota // from:to as it is
	logTime                  // the time, in the layout from:to
	logHostOf                // the name of the host
	logUptime                // seconds since the host started, with microseconds

	// In the built-in systems:
	logInt   // a random integer from from to to
	logSize  // the same, small ones much likelier
	logMilli // the same, in microseconds, written in milliseconds
	logWord  // one of the words from:to, separated by |
	logOf    // the same, but the one that the session has
	logID    // an id of so many digits, the from-th that the session has
	logHex   // the same in hex
	logPort  // the same as a port
	logIP    // the same as an address in the network to.0.0.0

	// In a corpus, from:to is what is there in the original, and changes with
	// the host and each time around:
	logShiftDigits
	logShiftHex
	logShiftIP
)

// A logHost is a system on one host.
type logHost struct {
	name string
	boot int64 // when it was started, ns

	// Lines of the built-in systems belong to sessions, as in real logs: a request,
	// a connection, a job, with the same ids in all its lines. These sessions are
	// under way; newest is the index of the last one.
	sessions [16]uint64
	newest   int

	next int      // corpus: which line
	key  [16]byte // corpus: by how much numbers are shifted in this round
}

// renew makes the numbers of the next round differ.
func (h *logHost) renew(rng *rand.PCG) {
	for i := range h.key {
		h.key[i] = byte(rng.Uint64() % 240) // with a digit added it still fits
	}
}

// session returns the session of a line: one time in 16 a new one, else one of the
// last, recent ones likelier.
func (h *logHost) session(rng *rand.PCG) uint64 {
	r := rng.Uint64()
	n := len(h.sessions)
	if r&15 == 0 {
		h.newest = (h.newest + 1) % n
		h.sessions[h.newest] = rng.Uint64()
		return h.sessions[h.newest]
	}
	return h.sessions[(h.newest+n-skewed(r, n))%n]
}

// idOf returns an id of a session, by its number. The mixing is that of SplitMix64.
func idOf(session uint64, which uint32) uint64 {
	v := session + uint64(which)*0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// append fills in a line.
func (l *Lines) append(dst []byte, parts logTemplate, h *logHost, session uint64) []byte {
	for i := range parts {
		p := &parts[i]
		switch p.kind {
		case logText:
			dst = append(dst, l.bytes[p.from:p.to]...)
		case logTime:
			dst = l.clock.append(dst, l.bytes[p.from:p.to])
		case logHostOf:
			dst = append(dst, h.name...)
		case logUptime:
			us := (l.clock.now - h.boot) / int64(time.Microsecond)
			dst = strconv.AppendInt(dst, us/1e6, 10)
			dst = append(dst, '.')
			dst = appendDigits(dst, uint64(us%1e6), 6)
		case logInt:
			dst = strconv.AppendUint(dst, uint64(p.from)+randBelow(l.rng.Uint64(), uint64(p.to-p.from)+1), 10)
		case logSize:
			dst = strconv.AppendUint(dst, l.size(p), 10)
		case logMilli:
			us := l.size(p)
			dst = strconv.AppendUint(dst, us/1000, 10)
			dst = append(dst, '.')
			dst = appendDigits(dst, us%1000, 3)
		case logWord:
			dst = appendWord(dst, l.bytes[p.from:p.to], skewed(l.rng.Uint64(), int(p.count)))
		case logOf:
			dst = appendWord(dst, l.bytes[p.from:p.to], skewed(idOf(session, uint32(p.digits)), int(p.count)))
		case logID:
			dst = appendNumber(dst, idOf(session, p.from), int(p.digits))
		case logHex:
			dst = appendHex(dst, idOf(session, p.from), int(p.digits))
		case logIP:
			dst = appendIP(dst, byte(p.to), idOf(session, p.from))
		case logPort:
			dst = strconv.AppendUint(dst, 32768+idOf(session, p.from)%28232, 10)
		case logShiftDigits:
			dst = h.shiftDigits(dst, l.bytes[p.from:p.to])
		case logShiftHex:
			dst = h.shiftHex(dst, l.bytes[p.from:p.to])
		case logShiftIP:
			dst = h.shiftIP(dst, l.bytes[p.from:p.to])
		}
	}
	return dst
}

// size returns a number from p.from to p.to, with each number of bits equally likely.
func (l *Lines) size(p *logPart) uint64 {
	r := l.rng.Uint64()
	span := uint64(p.to - p.from)
	span >>= randBelow(r<<32, uint64(bits.Len64(span)))
	return uint64(p.from) + randBelow(r, span+1)
}

// appendWord appends the i-th of words.
func appendWord(dst, words []byte, i int) []byte {
	for ; i > 0; i-- {
		words = words[bytes.IndexByte(words, '|')+1:]
	}
	if end := bytes.IndexByte(words, '|'); end >= 0 {
		words = words[:end]
	}
	return append(dst, words...)
}

// appendIP appends an address made from v.
func appendIP(dst []byte, net byte, v uint64) []byte {
	dst = strconv.AppendUint(dst, uint64(net), 10)
	dst = append(dst, '.')
	dst = strconv.AppendUint(dst, v>>56&3, 10)
	dst = append(dst, '.')
	dst = strconv.AppendUint(dst, v>>48&0xff, 10)
	dst = append(dst, '.')
	return strconv.AppendUint(dst, 1+v>>40%254, 10)
}

// shiftDigits appends digits, each increased by the key's value for its place: equal
// numbers stay equal, and none becomes shorter.
func (h *logHost) shiftDigits(dst, digits []byte) []byte {
	for i, c := range digits {
		k := h.key[i%len(h.key)]
		if i == 0 {
			dst = append(dst, '1'+(c-'1'+k)%9)
		} else {
			dst = append(dst, '0'+(c-'0'+k)%10)
		}
	}
	return dst
}

func (h *logHost) shiftHex(dst, digits []byte) []byte {
	const lower, upper = "0123456789abcdef", "0123456789ABCDEF"
	set := lower
	for _, c := range digits {
		if c >= 'A' && c <= 'F' {
			set = upper
		}
	}
	for i, c := range digits {
		v := c - '0'
		if c > '9' {
			v = c&0xf + 9
		}
		dst = append(dst, set[(v+h.key[i%len(h.key)])&0xf])
	}
	return dst
}

// shiftIP moves the last two numbers of an address.
func (h *logHost) shiftIP(dst, ip []byte) []byte {
	var dots int
	var n byte
	for i, c := range ip {
		if c != '.' {
			n = n*10 + c - '0'
		}
		if dots < 2 {
			dst = append(dst, c)
		} else if i+1 == len(ip) || ip[i+1] == '.' {
			dst = strconv.AppendUint(dst, uint64(n+h.key[dots]), 10)
		} else if c == '.' {
			dst = append(dst, '.')
		}
		if c == '.' {
			dots++
			n = 0
		}
	}
	return dst
}

// randBelow returns a number below n, from the random number r.
func randBelow(r, n uint64) uint64 {
	hi, _ := bits.Mul64(r, n)
	return hi
}

// appendDigits appends the last n digits of v.
func appendDigits(dst []byte, v uint64, n int) []byte {
	var buf [20]byte
	for i := n - 1; i >= 0; i-- {
		buf[i] = '0' + byte(v%10)
		v /= 10
	}
	return append(dst, buf[:n]...)
}

// appendNumber appends n digits, the first of which is not 0.
func appendNumber(dst []byte, v uint64, n int) []byte {
	from := len(dst)
	dst = appendDigits(dst, v, n)
	if dst[from] == '0' {
		dst[from] = '1'
	}
	return dst
}

// appendHex appends n digits, at most 32, made from v.
func appendHex(dst []byte, v uint64, n int) []byte {
	const hex = "0123456789abcdef"
	var buf [32]byte
	w := v
	for i := range n {
		if i == 16 {
			w = v * 0x9e3779b97f4a7c15
		}
		buf[i] = hex[w&0xf]
		w >>= 4
	}
	return append(dst, buf[:n]...)
}

// A logClock writes a time in layouts of these letters: Y year, y its last two digits,
// m month, b its name, d day, _ day with a space, a day of the week, H M S, and a
// digit: so many digits of the fraction. Other letters stand for themselves.
type logClock struct {
	now, second                           int64 // ns, s; the other fields are those of second
	year, month, day, hour, minute, inMin int
	monthName, dayName                    string
}

func (c *logClock) set(now int64) {
	c.now = now
	second := now / int64(time.Second)
	if second == c.second {
		return
	}
	c.second = second
	t := time.Unix(second, 0).UTC()
	c.year, c.month, c.day = t.Year(), int(t.Month()), t.Day()
	c.hour, c.minute, c.inMin = t.Clock()
	c.monthName, c.dayName = t.Month().String()[:3], t.Weekday().String()[:3]
}

func (c *logClock) append(dst, layout []byte) []byte {
	two := func(n int) { dst = append(dst, '0'+byte(n/10), '0'+byte(n%10)) }
	for _, k := range layout {
		switch k {
		case 'Y':
			two(c.year / 100)
			two(c.year % 100)
		case 'y':
			two(c.year % 100)
		case 'm':
			two(c.month)
		case 'b':
			dst = append(dst, c.monthName...)
		case 'd':
			two(c.day)
		case '_':
			if c.day < 10 {
				dst = append(dst, ' ', '0'+byte(c.day))
			} else {
				two(c.day)
			}
		case 'a':
			dst = append(dst, c.dayName...)
		case 'H':
			two(c.hour)
		case 'M':
			two(c.minute)
		case 'S':
			two(c.inMin)
		case '1', '2', '3', '4', '5', '6', '7', '8', '9':
			ns := c.now - c.second*int64(time.Second)
			from := len(dst)
			dst = appendDigits(dst, uint64(ns), 9)
			dst = dst[:from+int(k-'0')]
		default:
			dst = append(dst, k)
		}
	}
	return dst
}

// parse compiles a line of a built-in system. Its parts are <kind>, <kind:argument> or
// <kind:argument:argument>.
func (b *logBuilder) parse(line string) (logTemplate, error) {
	var parts logTemplate
	for line != "" {
		text, rest, found := strings.Cut(line, "<")
		if text != "" {
			parts = append(parts, b.part(logText, text))
		}
		if !found {
			break
		}
		spec, after, closed := strings.Cut(rest, ">")
		if !closed {
			return nil, fmt.Errorf("no > after %q", rest)
		}
		p, err := b.parsePart(spec)
		if err != nil {
			return nil, fmt.Errorf("<%s>: %w", spec, err)
		}
		parts = append(parts, p)
		line = after
	}
	return parts, nil
}

func (b *logBuilder) parsePart(spec string) (p logPart, err error) {
	kind, arg, _ := strings.Cut(spec, ":")
	switch kind {
	case "time":
		return b.part(logTime, arg), nil
	case "word":
		p = b.part(logWord, arg)
		p.count = uint16(strings.Count(arg, "|") + 1)
	case "of":
		which, words, _ := strings.Cut(arg, ":")
		p = b.part(logOf, words)
		p.count = uint16(strings.Count(words, "|") + 1)
		_, err = fmt.Sscan(which, &p.digits)
	case "host":
		p.kind = logHostOf
	case "uptime":
		p.kind = logUptime
	case "int", "size", "ms":
		p.kind = map[string]logKind{"int": logInt, "size": logSize, "ms": logMilli}[kind]
		if _, err = fmt.Sscanf(arg, "%d-%d", &p.from, &p.to); err == nil && p.to <= p.from {
			err = fmt.Errorf("from %d to %d; want a range that ascends", p.from, p.to)
		}
	case "id", "hex":
		p.kind = map[string]logKind{"id": logID, "hex": logHex}[kind]
		_, err = fmt.Sscanf(arg, "%d:%d", &p.from, &p.digits)
		if err == nil && (p.digits == 0 || p.digits > 32 || kind == "id" && p.digits > 20) {
			err = fmt.Errorf("%d digits; want 1 to 20, in hex 1 to 32", p.digits)
		}
	case "port":
		p.kind = logPort
		_, err = fmt.Sscanf(arg, "%d", &p.from)
	case "ip":
		p.kind = logIP
		_, err = fmt.Sscanf(arg, "%d:%d", &p.from, &p.to)
	default:
		err = fmt.Errorf("%q is no kind", kind)
	}
	return p, err
}

// part makes a part that refers to text.
func (b *logBuilder) part(kind logKind, text string) logPart {
	from := len(b.bytes)
	b.bytes = append(b.bytes, text...)
	return logPart{kind: kind, from: uint32(from), to: uint32(len(b.bytes))}
}
