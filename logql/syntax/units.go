package syntax

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// durationUnits are ordered by length of name, so that the first prefix is right.
var durationUnits = []struct {
	name string
	unit time.Duration
}{
	{"µs", time.Microsecond}, {"μs", time.Microsecond}, // two characters of Unicode
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour},
	{"d", day}, {"w", 7 * day}, {"y", 365 * day},
}

// ParseDuration reads a duration as queries write it: 5m, 1h30m, 1.5s, 7d. Units are
// ns, us (µs), ms, s, m, h, d (24h), w (7d) and y (365d). A leading minus is
// accepted. Errors say what is wrong with the text.
func ParseDuration(s string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(s, "-")
	if rest == "" {
		return 0, fmt.Errorf("duration %q has no number", shorten(s))
	}
	var total time.Duration
	for rest != "" {
		d, tail, ok := onePart(rest)
		if !ok {
			return 0, fmt.Errorf("duration %q; want numbers with units, such as 1h30m", shorten(s))
		}
		if d < 0 || total > math.MaxInt64-d {
			return 0, fmt.Errorf("duration %q; want at most 292 years", shorten(s))
		}
		total, rest = total+d, tail
	}
	if negative {
		total = -total
	}
	return total, nil
}

// onePart reads a number and its unit. A duration that is too long is below 0.
func onePart(s string) (d time.Duration, rest string, ok bool) {
	n := span(s, 0, func(c byte) bool { return digit(c) || c == '.' })
	if n == 0 || n > 40 {
		return 0, "", false
	}
	whole, fraction, decimal := strings.Cut(s[:n], ".")
	for _, u := range durationUnits {
		if rest, ok = strings.CutPrefix(s[n:], u.name); !ok {
			continue
		}
		if whole == "" && fraction == "" || strings.Contains(fraction, ".") {
			return 0, "", false
		}
		v := uint64(0)
		if whole != "" {
			var err error
			if v, err = strconv.ParseUint(whole, 10, 64); err != nil {
				return -1, rest, true
			}
		}
		high, low := bits.Mul64(v, uint64(u.unit))
		if high != 0 || low > math.MaxInt64 {
			return -1, rest, true
		}
		d = time.Duration(low)
		if decimal && fraction != "" {
			f, err := strconv.ParseFloat("0."+fraction, 64)
			if err != nil {
				return 0, "", false
			}
			part := time.Duration(f * float64(u.unit))
			if d > math.MaxInt64-part {
				return -1, rest, true
			}
			d += part
		}
		return d, rest, true
	}
	return 0, "", false
}

// FormatDuration writes a duration as ParseDuration reads it, with the largest units
// that it has; years and weeks only if it is a whole number of them: 1h30m, 1d, 2w, -5m.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b []byte
	left := uint64(d)
	if d < 0 {
		b, left = append(b, '-'), -left
	}
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"y", 365 * day}, {"w", 7 * day}} {
		if left%uint64(u.unit) == 0 {
			return string(append(strconv.AppendUint(b, left/uint64(u.unit), 10), u.name...))
		}
	}
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", 1}} {
		if n := left / uint64(u.unit); n > 0 {
			b = append(strconv.AppendUint(b, n, 10), u.name...)
			left %= uint64(u.unit)
		}
	}
	return string(b)
}

// ParseBytes reads a size as queries write it: 20MB, 1.5KiB, 512B. Units are B, kB, MB, GB,
// TB, PB, EB (powers of 1000) and KiB, MiB, ... (powers of 1024), in letters of any case. The
// B may be missing behind a capital letter, and k.
// Errors say what is wrong with the text.
func ParseBytes(s string) (uint64, error) {
	n := span(s, 0, func(c byte) bool { return digit(c) || c == '.' })
	unit := sizeUnit(s[n:])
	if n == 0 || unit == 0 {
		return 0, fmt.Errorf("size %q; want a number and a unit, such as 20MB or 1.5KiB", shorten(s))
	}
	if v, err := strconv.ParseUint(s[:n], 10, 64); err == nil {
		if high, low := bits.Mul64(v, unit); high == 0 {
			return low, nil
		}
		return 0, fmt.Errorf("size %q; want less than 16EiB", shorten(s))
	}
	f, err := strconv.ParseFloat(s[:n], 64)
	if err != nil {
		return 0, fmt.Errorf("size %q; want a number and a unit, such as 20MB or 1.5KiB", shorten(s))
	}
	if f *= float64(unit); f >= 1<<64 {
		return 0, fmt.Errorf("size %q; want less than 16EiB", shorten(s))
	}
	return uint64(f), nil
}

// sizeUnit returns what a unit stands for; 0 if it is none.
func sizeUnit(s string) uint64 {
	switch s { // m is minutes
	case "k", "K", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi":
		s += "b"
	}
	s = strings.ToLower(s)
	if s == "b" {
		return 1
	}
	if len(s) < 2 || len(s) > 3 || s[len(s)-1] != 'b' || len(s) == 3 && s[1] != 'i' {
		return 0
	}
	power := strings.IndexByte("kmgtpe", s[0]) + 1
	base, unit := uint64(1000), uint64(1)
	if len(s) == 3 {
		base = 1024
	}
	if power == 0 {
		return 0
	}
	for range power {
		unit *= base
	}
	return unit
}

func isNumber(s string) bool {
	_, err := parseNumber(s)
	return err == nil
}

// parseNumber reads a number without a sign: 12, 0x1f, 0b101, 0o17, 1e3, .5.
func parseNumber(s string) (float64, error) {
	if len(s) > 1 && s[0] == '0' && (letter(s[1]) && s[1] != 'e' && s[1] != 'E') {
		if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			return float64(v), nil
		}
	}
	if strings.ContainsAny(s, "nNiIxX") { // NaN, Inf, 0x1p3
		return 0, fmt.Errorf("number %q; want digits", shorten(s))
	}
	return strconv.ParseFloat(withoutUnderscores(s), 64)
}

// withoutUnderscores makes 1000 of 1_000.
func withoutUnderscores(s string) string {
	if !strings.Contains(s, "_") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != '_' || i == 0 || i == len(s)-1 || !digit(s[i-1]) || !digit(s[i+1]) {
			b = append(b, s[i])
		}
	}
	return string(b)
}

func isDuration(s string) bool {
	for ok := true; s != ""; {
		if _, s, ok = onePart(s); !ok {
			return false
		}
	}
	return true
}

func isSize(s string) bool {
	n := span(s, 0, func(c byte) bool { return digit(c) || c == '.' })
	return n > 0 && sizeUnit(s[n:]) != 0
}
