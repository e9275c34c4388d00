package syntax

import (
	"math"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		text      string
		want      time.Duration
		formatted string
	}{
		{"5m", 5 * time.Minute, "5m"}, {"1h30m", 90 * time.Minute, "1h30m"}, {"1.5s", 1500 * time.Millisecond, "1s500ms"},
		{"1d", day, "1d"}, {"8d", 8 * day, "8d"}, {"1w", 7 * day, "1w"}, {"1y", 365 * day, "1y"}, {"-5m", -5 * time.Minute, "-5m"}, {"0s", 0, "0s"},
		{"1ns", 1, "1ns"}, {"1us", 1000, "1us"}, {"1µs", 1000, "1us"}, {"1ms1us", 1001000, "1ms1us"}, {".5s", 500 * time.Millisecond, "500ms"},
		{"9223372036854775807ns", math.MaxInt64, "106751d23h47m16s854ms775us807ns"},
	} {
		got, err := ParseDuration(c.text)
		if err != nil || got != c.want || FormatDuration(got) != c.formatted {
			t.Errorf("%s: %v %v, formatted %s", c.text, got, err, FormatDuration(got))
		}
		if again, err := ParseDuration(c.formatted); again != c.want || err != nil {
			t.Errorf("%s: %v %v", c.formatted, again, err)
		}
	}
	for _, text := range []string{"", "-", "5", "m", "5x", "1..5s", "1.2.3s", ".s", "5m ", "300y", "9223372036854775807ns1ns", "99999999999999999999s", "1e5s"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{
		"0B": 0, "20b": 20, "20MB": 20e6, "20mb": 20e6, "20MiB": 20 << 20, "1.5KiB": 1536, "1kB": 1000, "2G": 2e9, "2Gi": 2 << 30, "20k": 20e3,
		"15EiB": 15 << 60, "18EB": 18e18, "18446744073709551615B": math.MaxUint64,
	} {
		if got, err := ParseBytes(text); got != want || err != nil {
			t.Errorf("%s: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "5", "5m", "5MM", "16EiB", "99999999999999999999B", "1.2.3B", "5 B", "16.0EiB"} {
		if n, err := ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "5": 5, ".5": .5, "5.": 5, "1e3": 1000, "1E+3": 1000, "1e-3": .001, "0x1F": 31, "0b11": 3, "0o17": 15, "1_000": 1000, "010": 10} {
		if got, err := parseNumber(text); got != want || err != nil {
			t.Errorf("%s: %g %v, want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1_", "1__0", "inf", "NaN", "0x", "0x1p3", "1e", "1e400", "1.2.3"} {
		if v, err := parseNumber(text); err == nil {
			t.Errorf("%q is %g", text, v)
		}
	}
}
