package column

import (
	"bytes"
	"errors"
	"math/rand/v2"
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
	var h hostileColumn // for all inputs of this process, which come one by one
	c := &h.c
	f.Fuzz(func(t *testing.T, packed, text []byte, n uint16) {
		h.check(t, packed, text, int(n%4096))
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

// A hostileColumn reads bytes that may be anything.
type hostileColumn struct {
	e             Encoder
	c, part, room Column
	fit, refused  int
}

// check reads a column in all ways, also without opening it, and compares what they say.
func (h *hostileColumn) check(t *testing.T, packed, text []byte, count int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(6, 6))
	rules, kept := make([]*Rule, 6), make([]bool, 6)
	for i := range rules {
		rules[i] = randomRule(rng)
		kept[i] = rules[i].KeptBy(packed, text, count, &h.room)
	}
	places, placed := Places(nil, packed, text)
	constant, same := ConstantOf(packed, text)
	parted := h.part.OpenPart(packed, text, count)
	err := h.c.Open(packed, text, count, rowTimes(count))
	if err != nil {
		if h.refused++; !errors.Is(err, ErrDamaged) {
			t.Errorf("an error of another kind: %v", err)
		}
		if parted {
			h.part.Part(packed, Test{Text: []byte("a")})
			h.part.ValueBytes()
		}
		return
	}
	h.fit++
	v := checkOpen(t, &h.e, &h.c)
	if len(v) == 0 {
		return
	}
	for i, r := range rules {
		checkRule(t, &h.c, v, r, kept[i], packed)
	}
	if parted {
		checkPart(t, &h.part, v, packed)
	}
	for _, s := range v {
		if placed && !inPlaces(places, s) {
			t.Fatalf("%v column: %q is not in the places %v", h.c.Kind(), s, places)
		}
		if same && s != string(constant) {
			t.Fatalf("%v column: a value is %q; want %q", h.c.Kind(), s, constant)
		}
	}
}

// checkOpen asks all of c, and encodes its values once more. It returns them, if they are not
// too long.
func checkOpen(t *testing.T, e *Encoder, c *Column) []string {
	t.Helper()
	v := make([]string, c.Count())
	raw := 0
	for i := range v {
		v[i] = string(c.AppendValue(nil, i))
		if raw += len(v[i]); raw > 1<<20 {
			return nil
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
		check(t, e, new(Column), v)
	}
	return v
}

// checkRule compares which values break a rule with what Holds says. kept is what KeptBy said.
func checkRule(t *testing.T, c *Column, v []string, r *Rule, kept bool, packed []byte) {
	t.Helper()
	bits := make([]uint64, (len(v)+63)/64)
	some, want := c.Breaks(bits, r), false
	for i, s := range v {
		breaks := !r.Holds([]byte(s))
		want = want || breaks
		if bits[i/64]>>(i%64)&1 != 0 != breaks {
			t.Fatalf("%q in a %v column breaks %+v: %v; want %v", s, c.Kind(), r, !breaks, breaks)
		}
	}
	if some != want || want && (kept || !r.MayBreak(packed)) {
		t.Fatalf("a value of a %v column breaks %+v: %v, kept by bytes: %v, may be: %v; want %v", c.Kind(), r, some, kept, r.MayBreak(packed), want)
	}
}

// checkPart compares what a part of a column tells with all of its values.
func checkPart(t *testing.T, part *Column, v []string, packed []byte) {
	t.Helper()
	for _, test := range testsOf(v) {
		if part.Part(packed, test) != None {
			continue
		}
		for _, s := range v {
			if test.Holds([]byte(s)) {
				t.Fatalf("by a part of a %v column no value passes %+v; %q does", KindOf(packed), test, s)
			}
		}
	}
	set := byteSet(part.ValueBytes())
	if KindOf(packed) != Dictionary {
		fit, ok := FitBytes(packed)
		if !ok {
			return
		}
		set.union(fit)
	}
	for _, s := range v {
		for _, b := range []byte(s) {
			if !set.has(b) {
				t.Fatalf("a part of a %v column has no %q, which %q has", KindOf(packed), b, s)
			}
		}
	}
}

// inPlaces reports whether a text has what the places say.
func inPlaces(places []Place, s string) bool {
	if len(places) == 0 {
		return s == ""
	}
	first, rest := places[0], places[1:]
	has := s != "" && (*byteSet)(&first.Bytes).has(s[0])
	if !first.Many {
		return has && inPlaces(rest, s[1:])
	}
	return inPlaces(rest, s) || has && inPlaces(places, s[1:])
}

// TestMutated changes a few bytes at a time.
func TestMutated(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var h hostileColumn
	for _, v := range samples() {
		v = v[:min(len(v), 30)]
		packed, text := encode(new(Encoder), v, rowTimes(len(v)))
		for i := range 20 {
			p, q := bytes.Clone(packed), bytes.Clone(text)
			for range min(i, 1+rng.IntN(2)) {
				if k := rng.IntN(len(p) + len(q)); k < len(p) {
					p[k] ^= 1 << rng.IntN(8)
				} else {
					q[k-len(p)] ^= 1 << rng.IntN(8)
				}
			}
			h.check(t, p, q, len(v))
		}
	}
	if h.fit < 200 || h.refused < 200 {
		t.Errorf("%d columns are read, %d refused", h.fit, h.refused)
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
