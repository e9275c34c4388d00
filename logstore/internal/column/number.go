package column

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// maxDigits is the most digits of an integer: more than int64 has are never parsed.
const maxDigits = 19

// parseInteger returns the integer that appendInteger makes text of again. Texts with
// fewer digits than width, or with leading zeros and more, have none.
func parseInteger(p []byte, width int) (v int64, ok bool) {
	neg := false
	if len(p) > 1 && p[0] == '-' && width <= 1 {
		neg, p = true, p[1:]
	}
	if len(p) < width || len(p) > maxDigits || len(p) == 0 || p[0] == '0' && len(p) > max(width, 1) {
		return 0, false
	}
	var u uint64
	for _, c := range p {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		u = u*10 + uint64(c)
	}
	if u > math.MaxInt64 || neg && u == 0 {
		return 0, false
	}
	if neg {
		return -int64(u), true
	}
	return int64(u), true
}

// powers are those of 10 below 2^64.
var powers = func() (p [maxDigits + 1]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

const twoDigits = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// digitsIn returns the number of decimal digits of u.
func digitsIn(u uint64) int {
	n := bits.Len64(u) * 1233 >> 12 // by the logarithm of 2: exact, or one too few
	if n < len(powers) && u >= powers[n] {
		n++
	}
	return max(n, 1)
}

// appendInteger appends v with at least width digits.
func appendInteger(dst []byte, v int64, width int) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	if u < 10 && width <= 1 {
		return append(dst, byte('0'+u))
	}
	n := max(digitsIn(u), width)
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	putDigits(dst[from:], u)
	return dst
}

// putDigits fills b with the digits of u, and zeros before them.
func putDigits(b []byte, u uint64) {
	i := len(b)
	for u >= 100 && i >= 2 {
		q := u / 100
		r := 2 * (u - 100*q)
		i -= 2
		b[i], b[i+1] = twoDigits[r], twoDigits[r+1]
		u = q
	}
	for i--; i >= 0; i-- {
		q := u / 10
		b[i] = byte('0' + u - 10*q)
		u = q
	}
}

// The values of hexadecimal digits, and 0xff for other bytes.
var lowerDigits, upperDigits = digitsOf("0123456789abcdef"), digitsOf("0123456789ABCDEF")

func digitsOf(alphabet string) (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte(alphabet) {
		t[c] = byte(i)
	}
	return t
}

// parseHex is parseInteger for hexadecimal digits of that table.
func parseHex(p []byte, width int, digits *[256]byte) (v int64, ok bool) {
	if len(p) < width || len(p) > 16 || len(p) == 0 || p[0] == '0' && len(p) > max(width, 1) {
		return 0, false
	}
	var u uint64
	var bad byte
	for _, c := range p {
		d := digits[c]
		bad |= d
		u = u<<4 | uint64(d)
	}
	return int64(u), bad < 16
}

const (
	lowerAlphabet = "0123456789abcdef"
	upperAlphabet = "0123456789ABCDEF"
)

func appendHex(dst []byte, v int64, width int, alphabet string) []byte {
	var b [16]byte
	i := len(b)
	for u := uint64(v); u != 0; u >>= 4 {
		i--
		b[i] = alphabet[u&15]
	}
	for len(b)-i < max(width, 1) {
		i--
		b[i] = '0'
	}
	return append(dst, b[i:]...)
}

// maxScale is the most digits after the point.
const maxScale = 17

// parseDecimal returns the digits of p as one integer, and how many of them follow the
// point, 0 if there is none.
func parseDecimal(p []byte) (v int64, scale int, ok bool) {
	neg := len(p) > 1 && p[0] == '-'
	if neg {
		p = p[1:]
	}
	if len(p) == 0 || len(p) > maxDigits || p[0] == '0' && len(p) > 1 && p[1] != '.' || p[0] == '.' {
		return 0, 0, false
	}
	point := -1
	for i, c := range p {
		if c == '.' && point < 0 {
			point = i
			continue
		}
		if c -= '0'; c > 9 {
			return 0, 0, false
		}
		v = v*10 + int64(c)
	}
	if point >= 0 {
		scale = len(p) - 1 - point
	}
	if point >= 0 && scale == 0 || scale > maxScale || v < 0 || neg && v == 0 {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, scale, true
}

func appendDecimal(dst []byte, v int64, scale int) []byte {
	if scale == 0 {
		return appendInteger(dst, v, 1)
	}
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = appendInteger(dst, int64(u/powers[scale]), 1)
	return appendInteger(append(dst, '.'), int64(u%powers[scale]), scale)
}

func parseIPv4(p []byte) (v int64, ok bool) {
	if len(p) < 7 || len(p) > 15 {
		return 0, false
	}
	var u, part uint32
	parts, digits := 0, 0
	for _, c := range p {
		if c == '.' {
			if digits == 0 || parts == 3 {
				return 0, false
			}
			u, part, digits = u<<8|part, 0, 0
			parts++
			continue
		}
		if c -= '0'; c > 9 || digits > 0 && part == 0 {
			return 0, false
		}
		part = part*10 + uint32(c)
		digits++
		if part > 255 {
			return 0, false
		}
	}
	return int64(u<<8 | part), parts == 3 && digits > 0
}

// byteTexts are the decimal digits of bytes, with how many there are behind them.
var byteTexts = func() (t [256][4]byte) {
	for i := range t {
		t[i][3] = byte(copy(t[i][:3], appendInteger(nil, int64(i), 1)))
	}
	return t
}()

func appendIPv4(dst []byte, v int64) []byte {
	var b [16]byte
	n := 0
	for shift := 24; shift >= 0; shift -= 8 {
		t := &byteTexts[v>>shift&255]
		b[n&15], b[(n+1)&15], b[(n+2)&15] = t[0], t[1], t[2]
		n += int(t[3])
		b[n&15] = '.'
		n++
	}
	return append(dst, b[:n-1]...)
}

const uuidLength = 36

// uuidBytes are where the hexadecimal digits of the bytes of a UUID begin.
var uuidBytes = [16]byte{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// appendUUIDBytes appends the 16 bytes of the UUID p to dst.
func appendUUIDBytes(dst, p []byte) (_ []byte, ok bool) {
	if len(p) != uuidLength || p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-' {
		return dst, false
	}
	var b [16]byte
	var bad byte
	for i, at := range uuidBytes {
		hi, lo := lowerDigits[p[at]], lowerDigits[p[at+1]]
		bad |= hi | lo
		b[i] = hi<<4 | lo
	}
	if bad >= 16 {
		return dst, false
	}
	return append(dst, b[:]...), true
}

var hexPairs = func() (t [256]uint16) {
	for i := range t {
		t[i] = uint16(lowerAlphabet[i>>4]) | uint16(lowerAlphabet[i&15])<<8
	}
	return t
}()

func appendUUID(dst, b []byte) []byte {
	var t [uuidLength]byte
	t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
	for i, at := range uuidBytes {
		binary.LittleEndian.PutUint16(t[at:], hexPairs[b[i]])
	}
	return append(dst, t[:]...)
}

// appendHexBytes appends the bytes whose hexadecimal digits p is to dst.
func appendHexBytes(dst, p []byte) (_ []byte, ok bool) {
	var bad byte
	for i := 0; i+1 < len(p); i += 2 {
		hi, lo := lowerDigits[p[i]], lowerDigits[p[i+1]]
		bad |= hi | lo
		dst = append(dst, hi<<4|lo)
	}
	return dst, bad < 16
}

func appendHexText(dst, b []byte) []byte {
	for _, c := range b {
		dst = binary.LittleEndian.AppendUint16(dst, hexPairs[c])
	}
	return dst
}
