package column

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// texts returns n values of f.
func texts(n int, f func(i int) string) []string {
	v := make([]string, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// samples are columns by name.
func samples() map[string][]string {
	rng := rand.New(rand.NewPCG(1, 2))
	return map[string][]string{
		"one":             {"a"},
		"one empty":       {""},
		"two":             {"1", "2"},
		"constant":        texts(100, func(int) string { return "same" }),
		"empty":           texts(100, func(i int) string { return strings.Repeat(" ", i%2) }),
		"rising":          texts(1000, func(i int) string { return fmt.Sprint(1000 + 3*i) }),
		"random":          texts(1000, func(int) string { return fmt.Sprint(rng.Int64() - rng.Int64()) }),
		"skewed":          texts(1000, func(int) string { return fmt.Sprint(rng.IntN(1 + rng.IntN(1000))) }),
		"sessions":        texts(1000, func(i int) string { return fmt.Sprint(10_000 + (i/20*7919)%50_000 + rng.IntN(3)) }),
		"few numbers":     texts(1000, func(int) string { return fmt.Sprint(1 << rng.IntN(40)) }),
		"padded":          texts(300, func(i int) string { return fmt.Sprintf("%05d", rng.IntN(1000)) }),
		"padded and more": texts(300, func(i int) string { return fmt.Sprintf("%03d", rng.IntN(2000)) }),
		"signs":           texts(300, func(i int) string { return fmt.Sprint(rng.IntN(20) - 10) }),
		"odd integers":    {"0", "-0", "00", "-1", "+1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775807", "18446744073709551615", "1 ", ""},
		"some misses": texts(300, func(i int) string {
			return []string{fmt.Sprint(i), "none", fmt.Sprint(i), fmt.Sprint(i)}[min(i%13, 1)*(i%5&1)]
		}),
		"hex":            texts(300, func(i int) string { return fmt.Sprintf("%x", rng.Uint64()>>rng.IntN(64)) }),
		"hex 16":         texts(300, func(i int) string { return fmt.Sprintf("%016x", rng.Uint64()) }),
		"hex upper":      texts(300, func(i int) string { return fmt.Sprintf("%08X", rng.Uint32()) }),
		"hex 32":         texts(300, func(i int) string { return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()) }),
		"decimals":       texts(300, func(i int) string { return fmt.Sprintf("%.3f", rng.Float64()*20-10) }),
		"odd decimals":   texts(300, func(i int) string { return fmt.Sprint(float64(rng.IntN(1000)) / 100) }),
		"hard decimals":  {"0.0", "-0.0", "0.10", "00.1", ".5", "5.", "1.2.3", "-0.5", "1e5", "123456789012.3456789", "1234567890123456.7", "0.00000000000000001"},
		"addresses":      texts(300, func(i int) string { return fmt.Sprintf("10.251.%d.%d", rng.IntN(20), rng.IntN(256)) }),
		"odd addresses":  {"1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1..2.3", "255.255.255.255", "0.0.0.0", "1.2.3.", ".1.2.3"},
		"words":          texts(300, func(i int) string { return []string{"GET", "PUT", "POST", "DELETE"}[rng.IntN(4)] }),
		"uuids":          texts(300, func(i int) string { return uuid(rng) }),
		"uuids again":    texts(300, func(i int) string { return uuid(rand.New(rand.NewPCG(uint64(i/5), 3))) }),
		"texts":          texts(300, func(i int) string { return fmt.Sprint("text ", i, " of ", rng.IntN(1000)) }),
		"all separators": texts(30, func(i int) string { return "\n\xff\x00"[:i%4%4] }),
		"bytes":          texts(300, func(i int) string { return string(randomBytes(rng, rng.IntN(8))) }),
	}
}

func uuid(rng *rand.Rand) string {
	b := randomBytes(rng, 16)
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// rowTimes are the times of the rows of n values.
func rowTimes(n int) []int64 {
	t := make([]int64, n)
	for i := range t {
		t[i] = 1_767_600_000_000_000_000 + int64(i)*1_234_567
	}
	return t
}

// encode appends the column of v.
func encode(e *Encoder, v []string, times []int64) (packed, text []byte) {
	e.Reset()
	for i, s := range v {
		e.Add([]byte(s), times[i])
	}
	return e.Append(nil, nil)
}

func check(t *testing.T, e *Encoder, c *Column, v []string) (packed, text []byte) {
	t.Helper()
	times := rowTimes(len(v))
	packed, text = encode(e, v, times)
	if err := c.Open(packed, text, len(v), times); err != nil {
		t.Fatalf("%v column: %v", KindOf(packed), err)
	}
	for i, want := range v {
		if got := c.AppendValue([]byte("x"), i); string(got[1:]) != want || got[0] != 'x' {
			t.Fatalf("value %d of a %v column is %q, not %q", i, c.Kind(), got, want)
		}
	}
	return packed, text
}

func TestRoundTrip(t *testing.T) {
	var e Encoder
	var c Column
	for name, v := range samples() {
		t.Run(name, func(t *testing.T) {
			packed, text := check(t, &e, &c, v)
			other, otherText := encode(new(Encoder), v, rowTimes(len(v)))
			if !bytes.Equal(packed, other) || !bytes.Equal(text, otherText) {
				t.Error("what was encoded before shows")
			}
			raw := 0
			for _, s := range v {
				raw += len(s)
			}
			t.Logf("%v: %d values of %d bytes: %d packed, %d text", c.Kind(), len(v), raw, len(packed), len(text))
			for n := range len(packed) {
				if err := new(Column).Open(packed[:n], text, len(v), rowTimes(len(v))); !errors.Is(err, ErrDamaged) {
					t.Fatalf("%d of %d bytes gave %v", n, len(packed), err)
				}
			}
		})
	}
}

func TestMatch(t *testing.T) {
	var e Encoder
	var c Column
	for name, v := range samples() {
		t.Run(name, func(t *testing.T) {
			check(t, &e, &c, v)
			for _, test := range testsOf(v) {
				got := make([]uint64, (len(v)+63)/64)
				c.Match(got, test)
				for i, s := range v {
					if want := test.Holds([]byte(s)); got[i/64]>>(i%64)&1 != 0 != want {
						t.Fatalf("%v column, test %d of %q: value %q gives %v", c.Kind(), test.Op, test.Text, s, !want)
					}
				}
			}
		})
	}
}

// testsOf returns tests of parts of some of the values, and of others like them.
func testsOf(v []string) (tests []Test) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		s := v[rng.IntN(len(v))]
		from := rng.IntN(len(s) + 1)
		to := from + rng.IntN(len(s)-from+1)
		b := []byte(s[from:to])
		if len(b) > 0 && rng.IntN(4) == 0 {
			b[rng.IntN(len(b))] = "019af.-:"[rng.IntN(8)]
		}
		for _, op := range []Op{Contains, HasPrefix, HasSuffix, Equal} {
			tests = append(tests, Test{Op: op, Text: b})
		}
	}
	return tests
}
