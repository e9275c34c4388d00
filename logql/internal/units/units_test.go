package units

import (
	"math"
	"strconv"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "1", "-1", "+1", "500", "0.25", "-12.5", ".5", "5.", ".", "", "-", "1e3", "1E-7", "0x1p-2", "Inf", "-inf", "+Inf", "NaN", "nan", "1_000", "abc",
		"123456789012345", "1234567890123456", "123456789012345678901234567890", "0.1", "0.30000000000000004", "1.2.3", "12a", " 1", "1 ", "1e999", "infinity", "in", "00012.50",
	} {
		got, ok := Number([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("Number(%q) = %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
}

func FuzzNumber(f *testing.F) {
	f.Add("12.5")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := Number([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("Number(%q) = %v, %v; want %v, %v", s, got, ok, want, err)
		}
	})
}

func TestDuration(t *testing.T) {
	for _, s := range []string{"1s", "1.5h", "-3ms", "1h2m", "5", "0", "1d", "", "ms", "250µs", "250μs", "+1s", "x", "3d2h", "1.5", "1s2", "1..2s", ".s", "1 s", "-", "+0", "-0", "00", "1h-2m", "9223372036854775808ns", "99999999h", "1.s", ".5s", "nan", "inf"} {
		got, ok := Duration([]byte(s))
		want, err := time.ParseDuration(s)
		if ok != (err == nil) || got != want {
			t.Errorf("Duration(%q) = %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
}

func FuzzDuration(f *testing.F) {
	f.Add("1m2.5s")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := Duration([]byte(s))
		want, err := time.ParseDuration(s)
		if ok != (err == nil) || got != want {
			t.Errorf("Duration(%q) = %v, %v; want %v, %v", s, got, ok, want, err)
		}
	})
}

func TestBytes(t *testing.T) {
	for s, want := range map[string]uint64{
		"0": 0, "42": 42, "42B": 42, "1kB": 1000, "1KB": 1000, "1 kb": 1000, "1KiB": 1024, "1k": 1000, "1Ki": 1024, "1.5 MB": 1500000, "2MiB": 2 << 20,
		"3GB": 3e9, "1TiB": 1 << 40, "1PB": 1e15, "1EiB": 1 << 60, "1,005.03 MB": 1005030000, "12 ": 12,
	} {
		if got, ok := Bytes([]byte(s)); !ok || got != want {
			t.Errorf("Bytes(%q) = %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "B", "-1", "1XB", "1kBB", "abc", "1 k B", "99EiB", "1.2.3kB", "bb"} {
		if got, ok := Bytes([]byte(s)); ok {
			t.Errorf("Bytes(%q) = %d; want none", s, got)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	texts := [][]byte{[]byte("12.5"), []byte("abc"), []byte("12ms"), []byte("3 KiB"), []byte(""), []byte("3d2h"), []byte("12"), []byte("1,005 kB")}
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range texts {
			Number(b)
			Bytes(b)
		}
		Duration(texts[2])
		Duration(texts[1])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
