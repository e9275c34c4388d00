package column

import (
	"math"
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"
)

// randomSet returns a set such as rules have: ranges, and a few bytes.
func randomSet(rng *rand.Rand) (s [4]uint64) {
	add := func(from, to int) {
		for b := from; b <= to; b++ {
			s[b/64] |= 1 << (b % 64)
		}
	}
	if rng.IntN(2) == 0 {
		add(0, rng.IntN(64))
	}
	if rng.IntN(2) == 0 {
		add(128+rng.IntN(2)*rng.IntN(100), 255)
	}
	for range rng.IntN(8) {
		b := rng.IntN(256)
		add(b, min(b+rng.IntN(2)*rng.IntN(50), 255))
	}
	return s
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func randomRule(rng *rand.Rand) *Rule {
	r := new(Rule)
	if rng.IntN(3) > 0 {
		r.Forbidden = randomSet(rng)
	}
	switch rng.IntN(4) {
	case 0:
		r.Doubtful, r.Check = randomSet(rng), utf8.Valid
	case 1:
		r.Doubtful, r.Check = randomSet(rng), func(v []byte) bool { return len(v)%3 > 0 }
	case 2:
		r.Doubtful, r.Numbers = [4]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}, true
		r.Check = plainNumber.Match // of any length: another encoder may write longer ones than ours
	}
	return r
}

// Which values break a rule is what Holds says of each.
func TestBreaks(t *testing.T) {
	var e Encoder
	var c, room Column
	rng := rand.New(rand.NewPCG(4, 4))
	kept := map[Kind]int{}
	for _, v := range samples() {
		packed, text := check(t, &e, &c, v)
		for range 60 {
			r := randomRule(rng)
			is := r.KeptBy(packed, text, len(v), &room)
			if is {
				kept[c.Kind()]++
			}
			checkRule(t, &c, v, r, is, packed)
		}
	}
	for _, k := range [...]Kind{Constant, Text, Dictionary} {
		if kept[k] < 20 {
			t.Errorf("%d rules are kept by the bytes of %v columns", kept[k], k)
		}
	}
}

func TestByteFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var f byteFinder
	wide := 0
	for range 2000 {
		set, but, less := byteSet(randomSet(rng)), byte(rng.Uint32()), rng.IntN(2) == 0
		if less {
			f.find(set, but)
		} else {
			f.findAll(set)
		}
		if f.wide {
			wide++
		}
		p := randomBytes(rng, 100)
		for i := range p {
			if rng.IntN(3) > 0 {
				p[i] = 'a' + p[i]%26
			}
		}
		for from := 0; from <= len(p); from++ {
			want := from
			for want < len(p) && (!set.has(p[want]) || less && p[want] == but) {
				want++
			}
			if got := f.next(p, from); got != want {
				t.Fatalf("the first of %x but %x (%v) in %q from %d on is at %d; want %d", set, but, less, p, from, got, want)
			}
		}
	}
	if wide < 200 {
		t.Errorf("%d sets are looked for eight bytes at a time", wide)
	}
}

// A value and its code have one text, and one number.
func TestCoding(t *testing.T) {
	var e Encoder
	var c Column
	rng := rand.New(rand.NewPCG(6, 6))
	for name, v := range samples() {
		check(t, &e, &c, v)
		k := c.Coding()
		all := make([]uint32, len(v))
		k.Codes(all, nil, 7)
		numbers := k.AppendNumbers([]float64{1}, parseFloat)
		if len(numbers) != k.Len()+1 {
			t.Fatalf("%s: %d numbers of %d codes", name, len(numbers)-1, k.Len())
		}
		at := make([]uint32, 50)
		for i := range at {
			at[i] = uint32(rng.IntN(len(v)))
		}
		some := make([]uint32, len(at))
		k.Codes(some, at, 7)
		for i, j := range at {
			if some[i] != all[j] {
				t.Fatalf("%s: value %d has codes %d and %d", name, j, some[i], all[j])
			}
		}
		for i, s := range v {
			code := all[i] - 7
			if int(code) >= k.Len() || string(k.AppendValue(nil, code)) != s {
				t.Fatalf("%s: value %d, %q, of a %v column has code %d of %d: %q", name, i, s, c.Kind(), code, k.Len(), k.AppendValue(nil, code))
			}
			x, want := numbers[code+1], parseFloat([]byte(s))
			if x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
				t.Fatalf("%s: %q of a %v column is %v; want %v", name, s, c.Kind(), x, want)
			}
		}
	}
}
