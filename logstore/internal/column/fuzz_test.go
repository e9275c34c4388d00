package column

import (
	"errors"
	"testing"
)

// No bytes make a Column panic, and it reads the next column after them.
func FuzzOpen(f *testing.F) {
	for _, v := range samples() {
		v = v[:min(len(v), 40)]
		packed, text := encode(new(Encoder), v, rowTimes(len(v)))
		f.Add(packed, text, uint16(len(v)))
	}
	want := []string{"a-1", "a-22", "a-7"}
	good, goodText := encode(new(Encoder), want, rowTimes(3))
	var e Encoder // for all inputs of this process, which come one by one
	var c Column
	f.Fuzz(func(t *testing.T, packed, text []byte, n uint16) {
		count := int(n % 4096)
		switch err := c.Open(packed, text, count, rowTimes(count)); {
		case err == nil:
			checkOpen(t, &e, &c)
		case !errors.Is(err, ErrDamaged):
			t.Errorf("an error of another kind: %v", err)
		}
		if err := c.Open(good, goodText, 3, rowTimes(3)); err != nil {
			t.Fatal(err)
		}
		for i, s := range want {
			if got := c.AppendValue(nil, i); string(got) != s {
				t.Fatalf("the next column has %q, not %q", got, s)
			}
		}
	})
}

// checkOpen asks all of c, and encodes its values once more.
func checkOpen(t *testing.T, e *Encoder, c *Column) {
	v := make([]string, c.Count())
	raw := 0
	for i := range v {
		v[i] = string(c.AppendValue(nil, i))
		if raw += len(v[i]); raw > 1<<20 {
			return
		}
	}
	checkDraw(t, c, v)
	if len(v) > 0 {
		checkBounds(t, c, v)
		for i, test := range testsOf(v) {
			if i%8 == 0 || len(v) < 20 {
				checkMatch(t, c, v, test)
			}
		}
		check(t, e, c, v)
	}
}

// Values come back as they were. Each begins with a byte for its length.
func FuzzRoundTrip(f *testing.F) {
	for _, v := range samples() {
		var p []byte
		for _, s := range v[:min(len(v), 40)] {
			p = append(append(p, byte(len(s))), s...)
		}
		f.Add(p)
	}
	var e Encoder
	var c Column
	f.Fuzz(func(t *testing.T, p []byte) {
		var v []string
		for len(p) > 0 {
			n := min(int(p[0]), len(p)-1)
			v = append(v, string(p[1:1+n]))
			p = p[1+n:]
		}
		if len(v) > 0 {
			check(t, &e, &c, v)
		}
	})
}
