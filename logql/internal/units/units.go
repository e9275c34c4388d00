// Package units reads the numbers, durations and sizes that labels have, as Loki does.
package units

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unsafe"
)

// text is b as a string that must not be kept.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// powers of ten that a float64 has exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Number reads a number as strconv.ParseFloat does.
func Number(b []byte) (float64, bool) {
	if v, ok := decimal(b); ok {
		return v, true
	}
	if !MayBeNumber(b) || !ofNumber(b) {
		return 0, false // without the memory that an error takes
	}
	v, err := strconv.ParseFloat(text(b), 64)
	return v, err == nil
}

// MayBeNumber reports whether b begins as numbers and durations do. What does not is neither.
func MayBeNumber(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	c := b[0]
	if (c == '+' || c == '-') && len(b) > 1 {
		c = b[1]
	}
	return c >= '0' && c <= '9' || c == '.' || c|0x20 == 'i' || c|0x20 == 'n'
}

// ofNumber reports whether b has only the characters of numbers.
func ofNumber(b []byte) bool {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == '_':
		case c|0x20 >= 'a' && c|0x20 <= 'f', c|0x20 == 'x', c|0x20 == 'p', c|0x20 == 'i', c|0x20 == 'n', c|0x20 == 't', c|0x20 == 'y':
		default:
			return false
		}
	}
	return true
}

// decimal reads up to 15 digits with a point: the quotient of two exact numbers is rounded as
// it should be.
func decimal(b []byte) (v float64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	n, point, seen := uint64(0), -1, 0
	for i, c := range digits {
		if c == '.' && point < 0 {
			point = i
			continue
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
		seen++
	}
	if seen == 0 || seen > 15 {
		return 0, false
	}
	v = float64(n)
	if point >= 0 {
		v /= powers[len(digits)-1-point]
	}
	if len(digits) < len(b) {
		v = -v
	}
	return v, true
}

// Duration reads a duration as time.ParseDuration does.
func Duration(b []byte) (time.Duration, bool) {
	if len(b) == 0 || !MayBeNumber(b) || !ofDuration(b) {
		return 0, false // without the memory that an error takes
	}
	d, err := time.ParseDuration(text(b))
	return d, err == nil
}

// ofDuration reports whether b, but for a sign, is numbers with units of durations, or 0.
func ofDuration(b []byte) bool {
	if b[0] == '-' || b[0] == '+' {
		b = b[1:]
	}
	if string(b) == "0" {
		return true
	}
	for len(b) > 0 {
		i := 0
		for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.') {
			i++
		}
		size := durationUnit(b[i:])
		if i == 0 || size == 0 {
			return false
		}
		b = b[i+size:]
	}
	return true
}

// durationUnit returns how many bytes the unit has that b begins with, 0 without one.
func durationUnit(b []byte) int {
	i := 0
	for i < len(b) && (b[i] < '0' || b[i] > '9') && b[i] != '.' {
		i++
	}
	switch string(b[:i]) {
	case "ns", "us", "µs", "μs", "ms", "s", "m", "h":
		return i
	}
	return 0
}

// Bytes reads a size: a number and a unit, with blanks between them as one likes. The units
// are powers of 1000, kB, MB, GB, TB, PB, EB, and powers of 1024, KiB to EiB, in any case, and
// may lack the B. Commas in the number are left out.
func Bytes(b []byte) (uint64, bool) {
	i, commas := 0, false
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i] == ',') {
		commas = commas || b[i] == ','
		i++
	}
	number := b[:i]
	var buf [32]byte
	if commas {
		number = withoutCommas(buf[:0], number)
	}
	v, ok := Number(number)
	if !ok {
		return 0, false
	}
	factor, ok := unit(trim(b[i:]))
	if v *= factor; !ok || v >= math.MaxUint64 {
		return 0, false
	}
	return uint64(v), true
}

// withoutCommas appends b without its commas.
func withoutCommas(out, b []byte) []byte {
	for _, c := range b {
		if c != ',' {
			out = append(out, c)
		}
	}
	return out
}

func trim(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// unit returns the bytes of a unit.
func unit(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 1, true
	}
	base := 1000.0
	power := 0
	switch b[0] | 0x20 {
	case 'b':
		return 1, len(b) == 1
	case 'k':
		power = 1
	case 'm':
		power = 2
	case 'g':
		power = 3
	case 't':
		power = 4
	case 'p':
		power = 5
	case 'e':
		power = 6
	default:
		return 0, false
	}
	b = b[1:]
	if len(b) > 0 && b[0]|0x20 == 'i' {
		base = 1024
		b = b[1:]
	}
	if len(b) > 0 && b[0]|0x20 == 'b' {
		b = b[1:]
	}
	return math.Pow(base, float64(power)), len(b) == 0
}

// BytesProblem says why Bytes cannot read b, in the words of Loki.
func BytesProblem(b []byte) string {
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i] == ',') {
		i++
	}
	if _, err := strconv.ParseFloat(string(withoutCommas(nil, b[:i])), 64); err != nil {
		return err.Error()
	}
	rest := bytes.ToLower(bytes.TrimSpace(b[i:]))
	if _, ok := unit(rest); !ok {
		return "unhandled size name: " + string(rest)
	}
	return "too large: " + string(b)
}
