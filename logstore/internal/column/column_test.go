package column

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
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
	all := map[string][]string{
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
		"hex":           texts(300, func(i int) string { return fmt.Sprintf("%x", rng.Uint64()>>rng.IntN(64)) }),
		"hex 16":        texts(300, func(i int) string { return fmt.Sprintf("%016x", rng.Uint64()) }),
		"hex upper":     texts(300, func(i int) string { return fmt.Sprintf("%08X", rng.Uint32()) }),
		"hex 32":        texts(300, func(i int) string { return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()) }),
		"decimals":      texts(300, func(i int) string { return fmt.Sprintf("%.3f", rng.Float64()*20-10) }),
		"odd decimals":  texts(300, func(i int) string { return fmt.Sprint(float64(rng.IntN(1000)) / 100) }),
		"hard decimals": {"0.0", "-0.0", "0.10", "00.1", ".5", "5.", "1.2.3", "-0.5", "1e5", "123456789012.3456789", "1234567890123456.7", "0.00000000000000001"},
		"addresses":     texts(300, func(i int) string { return fmt.Sprintf("10.251.%d.%d", rng.IntN(20), rng.IntN(256)) }),
		"odd addresses": {"1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1..2.3", "255.255.255.255", "0.0.0.0", "1.2.3.", ".1.2.3"},
		"words":         texts(300, func(i int) string { return []string{"GET", "PUT", "POST", "DELETE"}[rng.IntN(4)] }),
		"uuids":         texts(300, func(i int) string { return uuid(rng) }),
		"uuids again":   texts(300, func(i int) string { return uuid(rand.New(rand.NewPCG(uint64(i/5), 3))) }),
		"with ports":    texts(300, func(i int) string { return fmt.Sprintf("10.251.%d.%d:50010", rng.IntN(20), rng.IntN(256)) }),
		"prefix":        texts(300, func(i int) string { return fmt.Sprint("blk_", rng.Int64()-rng.Int64()) }),
		"durations":     texts(300, func(i int) string { return fmt.Sprint(rng.IntN(1000), "ms") }),
		"paths": texts(300, func(i int) string {
			return fmt.Sprintf("/user/root/rand%d/_task_200811101024_%04d_m_%06d_0/part-%05d.", rng.IntN(8), rng.IntN(20), i, i)
		}),
		"requests":       texts(300, func(i int) string { return "req-" + uuid(rng) }),
		"few patterns":   texts(300, func(i int) string { return fmt.Sprintf([]string{"a%d", "b-%d", "c.%d"}[min(i%9, 2)], rng.IntN(1000)) }),
		"texts":          texts(300, func(i int) string { return fmt.Sprint("text ", i, " of ", rng.IntN(1000)) }),
		"all separators": texts(30, func(i int) string { return "\n\xff\x00"[:i%4%4] }),
		"bytes":          texts(300, func(i int) string { return string(randomBytes(rng, rng.IntN(8))) }),
	}
	for i, l := range goLayouts {
		all["time "+l] = texts(200, func(i int) string {
			return time.Unix(0, rowTimes(200)[i]).UTC().Add(-time.Duration(rng.IntN(5)) * time.Millisecond).Format(l)
		})
		all["far time "+l] = texts(100, func(i int) string { return time.Unix(rng.Int64N(endOfTimes), rng.Int64N(1e9)).UTC().Format(l) })
		all["wrong time "+l] = texts(20, func(k int) string {
			b := []byte(time.Unix(0, rowTimes(200)[i]).UTC().Format(l))
			b[rng.IntN(len(b))] = "0123456789 T:."[rng.IntN(14)]
			return string(b)
		})
	}
	return all
}

// goLayouts are those of package time for layouts of ours.
var goLayouts = []string{
	"2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05", "2006-01-02 15:04:05.000", "2006/01/02 15:04:05.000000", "06/01/02 15:04:05",
	"01-02 15:04:05.000", "15:04:05", "15:04:05,000", "060102 150405", "20060102 150405", "02/Jan/2006:15:04:05", "Jan _2 15:04:05", "Jan 02 15:04:05",
	"Mon Jan _2 15:04:05 2006", "Mon Jan 02 15:04:05.000000 2006", "Mon, 02 Jan 2006 15:04:05", "2006-01-02-15.04.05.000000", "20060102-15:04:05.000", "0102 15:04:05.000000", "2006-01-02", "2006.01.02",
	"2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05Z",
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
	checkDraw(t, c, v)
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
			for n := range min(len(packed), 60) {
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
			checkBounds(t, &c, v)
			for _, test := range testsOf(v) {
				checkMatch(t, &c, v, test)
			}
		})
	}
}

func checkMatch(t *testing.T, c *Column, v []string, test Test) {
	t.Helper()
	got := make([]uint64, (len(v)+63)/64)
	c.Match(got, test)
	for i, s := range v {
		want := test.Holds([]byte(s))
		if got[i/64]>>(i%64)&1 != 0 != want {
			t.Fatalf("%v column, test %d %v of %q: value %q gives %v", c.Kind(), test.Op, test.Fold, test.Text, s, !want)
		}
		if want && !c.May(test) {
			t.Fatalf("%v column: May rules out %q for %q", c.Kind(), test.Text, s)
		}
	}
	if n := len(v) % 64; n > 0 && got[len(got)-1]>>n != 0 {
		t.Fatal("bits behind the last value are set")
	}
}

// All values are within the bounds.
func checkBounds(t *testing.T, c *Column, v []string) {
	t.Helper()
	least, most, set := c.Bounds()
	for _, s := range v {
		if len(s) < least || len(s) > most {
			t.Fatalf("%v column: %q is not of %d to %d bytes", c.Kind(), s, least, most)
		}
		for _, b := range []byte(s) {
			if set[b/64]>>(b%64)&1 == 0 {
				t.Fatalf("%v column: %q has the byte %q", c.Kind(), s, b)
			}
		}
	}
	if c.Weight() <= 0 {
		t.Fatal("it weighs nothing")
	}
}

// testsOf returns tests of parts of some of the values, and of others like them.
func testsOf(v []string) (tests []Test) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		s := v[rng.IntN(len(v))]
		from := rng.IntN(len(s) + 1)
		to := from + rng.IntN(len(s)-from+1)
		b := []byte(s[from:to])
		if len(b) > 0 && rng.IntN(4) == 0 {
			b[rng.IntN(len(b))] = "019af.-:"[rng.IntN(8)]
		}
		for _, op := range []Op{Contains, HasPrefix, HasSuffix, Equal} {
			tests = append(tests, Test{Op: op, Text: b})
			if utf8.Valid(b) {
				tests = append(tests, Test{Op: op, Fold: true, Text: swapCase(b)})
			}
		}
	}
	return tests
}

// Times are told from 1970 on as package time does.
func TestTimeLayouts(t *testing.T) {
	var e Encoder
	var c Column
	for _, l := range goLayouts {
		at := time.Date(2026, 1, 5, 8, 0, 0, 123456789, time.UTC)
		later := at.Add(49 * time.Hour)
		check(t, &e, &c, []string{at.Format(l), later.Format(l)})
		if c.Kind() != Time {
			t.Errorf("%q is of kind %v", at.Format(l), c.Kind())
			continue
		}
		if strings.HasPrefix(l, "15") { // the day is that of the row
			later = later.Add(-48 * time.Hour)
		}
		if unit := c.form.unit(); c.nums[0] != floorDiv(at.UnixNano(), unit) || c.nums[1] != floorDiv(later.UnixNano(), unit) {
			t.Errorf("%q is told as %d and %d units of %d ns", at.Format(l), c.nums[0], c.nums[1], unit)
		}
	}
}

// A first value that is no time hides no times.
func TestTimesBesideOthers(t *testing.T) {
	var e Encoder
	var c Column
	v := texts(40, func(i int) string { return fmt.Sprintf("2026-01-05 08:00:%02d", i) })
	v[0] = "-"
	if check(t, &e, &c, v); c.Kind() != Time || c.misses == nil {
		t.Errorf("a column of times and one other is of kind %v", c.Kind())
	}
}

// swapCase returns b with other letters that fold to those of b.
func swapCase(b []byte) []byte {
	return bytes.Map(func(r rune) rune { return unicode.SimpleFold(r) }, b)
}

// Case is folded as package filter does it.
func TestHoldsFolded(t *testing.T) {
	for _, test := range []struct {
		op      Op
		text, v string
		want    bool
	}{
		{HasPrefix, "aK", "Ak1", true}, {HasPrefix, "k", "\u212a", true}, {HasPrefix, "\u212a", "kb", true}, {HasPrefix, "a", "", false},
		{HasSuffix, "Straße", "eine STRAßE", true}, {HasSuffix, "s", "a\u017f", true}, {HasSuffix, "ab", "b", false},
		{Equal, "Ä", "ä", true}, {Equal, "\ufffd", "\xff", false}, {Equal, "\ufffd", "\ufffd", true}, {Equal, "a", "aa", false},
		{Contains, "ÄB", "xäby", true}, {HasSuffix, "", "\xff", true}, {HasPrefix, "", "", true}, {HasSuffix, "b", "\xffB", true},
	} {
		if got := (Test{Op: test.op, Fold: true, Text: []byte(test.text)}).Holds([]byte(test.v)); got != test.want {
			t.Errorf("op %d of %q gives %v for %q", test.op, test.text, got, test.v)
		}
		var e Encoder
		var c Column
		check(t, &e, &c, []string{test.v, "1"})
		checkMatch(t, &c, []string{test.v, "1"}, Test{Op: test.op, Fold: true, Text: []byte(test.text)})
	}
}
