package column

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestDigits compares what ranges tell of digits with each number in them.
func TestDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	told := map[bool]int{}
	for range 20_000 {
		d := digits{radix: 10, width: rng.IntN(7)}
		form := "%0*d"
		if rng.IntN(3) == 0 {
			d.radix, form = 16, "%0*x"
		}
		low := rng.Uint64N(1 << rng.IntN(40))
		high := low + rng.Uint64N(1<<rng.IntN(9))
		text := fmt.Sprintf(form, 0, rng.Uint64N(1<<rng.IntN(20)))
		if s := fmt.Sprintf(form, d.width, low+rng.Uint64N(high-low+1)); rng.IntN(2) == 0 {
			at := rng.IntN(len(s))
			text = s[at:][:1+rng.IntN(len(s)-at)]
		}
		text = strings.Repeat("0", rng.IntN(4)/2) + text
		var within, last, begins bool
		for v := low; v <= high; v++ {
			s := fmt.Sprintf(form, d.width, v)
			within, last, begins = within || strings.Contains(s, text), last || strings.HasSuffix(s, text), begins || strings.HasPrefix(s, text)
		}
		if !d.set([]byte(text)) {
			t.Fatalf("%q are no digits", text)
		}
		if got := d.within(low, high, maxDigits); got != within {
			t.Fatalf("%q in a number from %d to %d, in digits of %d, %d at least: %v; want %v", text, low, high, d.radix, d.width, got, within)
		}
		if got := d.within(low, high, 1); got != last {
			t.Fatalf("%q at the end of a number from %d to %d, in digits of %d, %d at least: %v; want %v", text, low, high, d.radix, d.width, got, last)
		}
		if got := d.begin(low, high); got != begins && (!got || d.width <= 1) {
			t.Fatalf("%q at the beginning of a number from %d to %d, in digits of %d, %d at least: %v; want %v", text, low, high, d.radix, d.width, got, begins)
		}
		told[within]++
	}
	if told[false] < 1000 || told[true] < 1000 {
		t.Errorf("so often a range has digits: %v", told)
	}
}

// TestRange compares the range that integers begin with with the integers.
func TestRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	var e intsEncoder
	var r reader
	known := map[byte]int{}
	for range 3000 {
		v := make([]int64, 1+rng.IntN(100))
		step, size, base := rng.Int64N(100), rng.IntN(62)+1, int64(rng.Uint64())>>rng.IntN(64)
		few := rng.IntN(2) == 0
		for i := range v {
			v[i] = base + step*int64(i) + rng.Int64N(1<<size)
			if few && i > 3 {
				v[i] = v[rng.IntN(i)]
			}
		}
		packed, text := e.append(nil, nil, v)
		got, ok := rangeOf(packed)
		if !ok {
			continue
		}
		known[packed[0]&formMask]++
		for _, x := range v {
			if x < got.low || x > got.high {
				t.Fatalf("form %d: %d is not from %d to %d", packed[0]&formMask, x, got.low, got.high)
			}
		}
		r.packed, r.text = packed, text
		if back, err := r.ints(nil, len(v)); err != nil || len(r.packed)+len(r.text) > 0 || fmt.Sprint(back) != fmt.Sprint(v) {
			t.Fatalf("%v, %v; want %v", back, err, v)
		}
	}
	for form := range byte(formDistinct + 1) {
		if known[form] == 0 {
			t.Errorf("no range of integers of form %d is known", form)
		}
	}
}

// A number that is larger than the largest one is refused: what a range tells would be wrong.
func TestAboveTop(t *testing.T) {
	var c Column
	good := []byte{byte(Integer), formSymbol, 0, 15, 9} // 9, where 15 may be
	if err := c.Open(good, nil, 4, nil); err != nil {
		t.Fatal(err)
	}
	bad := []byte{byte(Integer), formSymbol, 0, 8, 9}
	if err := c.Open(bad, nil, 4, nil); err == nil {
		t.Error("9 is read where 8 is the largest number")
	}
}

// TestPeekTimes compares what is told of times, by those of their rows, with each of them.
func TestPeekTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	var e Encoder
	var c Column
	told := map[Share]int{}
	for range 600 {
		f := timeForm{layout: uint8(rng.IntN(len(layouts))), zulu: uint8(rng.IntN(2))}
		if digits := uint8(rng.IntN(10)); rng.IntN(2) == 0 {
			f.fraction, f.digits = uint8(1+rng.IntN(len(fractions)-1)), digits
		}
		if !f.valid() {
			continue
		}
		begin, size := rng.Int64N(4e18), int64(1)<<rng.IntN(58)
		rows, v := make([]int64, 40), make([]string, 40)
		offset := int64(0)
		if rng.IntN(2) == 0 {
			offset = rng.Int64N(1e13)
		}
		for i := range v {
			rows[i] = begin + rng.Int64N(size)
			v[i] = string(f.append(nil, (rows[i]+offset)/f.unit(), &timeStamp{second: -1}))
		}
		packed, text := encode(&e, v, rows)
		if KindOf(packed) != Time {
			continue
		}
		if err := c.Open(packed, text, len(v), rows); err != nil {
			t.Fatal(err)
		}
		low, high := slices.Min(rows), slices.Max(rows)
		for range 20 {
			s := v[rng.IntN(len(v))]
			at := rng.IntN(len(s))
			p := []byte(s[at:][:min(1+rng.IntN(6), len(s)-at)])
			if rng.IntN(2) == 0 {
				p[rng.IntN(len(p))] = s[rng.IntN(len(s))]
			}
			test := Test{Op: Op(rng.IntN(4)), Text: p}
			share := PeekTimes(packed, low, high, test)
			told[share]++
			passed := 0
			for _, s := range v {
				if test.Holds([]byte(s)) {
					passed++
				}
			}
			if share == None && passed > 0 || share == All && passed < len(v) {
				t.Fatalf("%d of %d times such as %q pass %d of %q; told %d", passed, len(v), s, test.Op, p, share)
			}
		}
	}
	for _, s := range []Share{Some, None, All} {
		if told[s] < 100 {
			t.Errorf("%d is told %d times", s, told[s])
		}
	}
}
