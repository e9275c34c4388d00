package filter

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// A split is a line cut into literals and variables: offsets of slots.
type split []uint32

// literals ranges over what is outside of the slots.
func (s split) literals(line []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		at := uint32(0)
		for i := 0; i < len(s); i += 2 {
			if !yield(line[at:s[i]]) {
				return
			}
			at = s[i+1]
		}
		yield(line[at:])
	}
}

// randomSplit cuts a line anywhere.
func randomSplit(line []byte, rng *rand.Rand) (s split) {
	for range rng.IntN(5) {
		at := uint32(rng.IntN(len(line) + 1))
		s = append(s, at, at)
		if rng.IntN(3) > 0 {
			s[len(s)-1] = uint32(rng.IntN(len(line) + 1))
		}
	}
	slices.Sort(s)
	return s
}

// addLine adds the variables of a line.
func addLine(b *VariableBuilder, line []byte, s split) {
	b.SetLines(append(slices.Clip(line), 0xff))
	for i := 0; i < len(s); i += 2 {
		b.AddVariable(s[i], s[i+1])
	}
}

// variablesOf returns the filter of a line among others.
func variablesOf(line []byte, s split, others ...[]byte) []byte {
	var b VariableBuilder
	b.bytes = 1 << 20
	for _, o := range others {
		b.AddText(o)
	}
	for i := 0; i < len(line); i += 1 + len(line)/3 { // like the line, but for a byte
		like := slices.Clone(line)
		like[i] ^= 0x20
		addLine(&b, like, s)
	}
	addLine(&b, line, s)
	return b.Append(nil)
}

// verifyVariables checks that no part of a line is ruled out, but for the words and
// grams that a literal has.
func verifyVariables(t *testing.T, line []byte, s split, f []byte, from, to int, rng *rand.Rand) {
	t.Helper()
	part := line[from:to]
	for _, p := range [][]byte{part, variant(part, rng)} {
		needles := []Needle{Substring(p)}
		if HasWord(line, p, true) {
			needles = append(needles, Word(p))
		}
		for i, n := range needles {
			n = n.OfVariables()
			n.variables = slices.DeleteFunc(slices.Clone(n.variables), func(k variableKey) bool { return inLiteral(line, s, k) })
			if !May(f, n) {
				t.Errorf("line %q with slots %d: %q is ruled out; a word: %v", line, s, p, i == 1)
			}
		}
	}
}

// inLiteral reports whether a literal of the line has a key of its own.
func inLiteral(line []byte, s split, k variableKey) bool {
	for l := range s.literals(line) {
		if slices.ContainsFunc(variableKeys(l, true, len(line)), func(o variableKey) bool { return o.key == k.key && o.kind == k.kind }) {
			return true
		}
		for _, r := range string(l) { // of which variableKeys has two as one
			if k.kind == 0 && k.key == denseKey(0, r) {
				return true
			}
		}
	}
	return false
}

func TestNoPartOfVariablesIsMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, text := range seeds {
		line := []byte(text)
		for range 4 {
			s := randomSplit(line, rng)
			f := variablesOf(line, s, []byte("before 4711"))
			for range 25 {
				from := rng.IntN(len(line) + 1)
				verifyVariables(t, line, s, f, from, from+rng.IntN(len(line)-from+1), rng)
			}
			if t.Failed() {
				return
			}
		}
	}
}

func TestNoPartOfRandomVariablesIsMissed(t *testing.T) {
	pieces := []string{"a", "K", "\u212a", "ſ", "7", "42", "4711", "_", " ", "-", "é", "ẞ", "İ", "数", "据", "ー", "ก", "서", "\u0301", "\u0345",
		"\xff", "\x80", "\xc3", "\xe6\x95", "😀", "Ⓐ", "—", "error", "Ünïcödé", "deadbeef01", "3e5d", "10.0.0.1", "255.", ".7", "."}
	rng := rand.New(rand.NewPCG(17, 18))
	for range 250 {
		var line []byte
		for range rng.IntN(30) {
			line = append(line, pieces[rng.IntN(len(pieces))]...)
		}
		s := randomSplit(line, rng)
		f := variablesOf(line, s)
		for range 20 {
			from := rng.IntN(len(line) + 1)
			verifyVariables(t, line, s, f, from, from+rng.IntN(len(line)-from+1), rng)
		}
		if t.Failed() {
			return
		}
	}
}

func FuzzVariables(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []byte("x"+s), uint(i), uint(2*i+5), uint64(i))
	}
	f.Fuzz(func(t *testing.T, line, other []byte, from, to uint, seed uint64) {
		from %= uint(len(line) + 1)
		to = from + to%uint(uint(len(line))-from+1)
		rng := rand.New(rand.NewPCG(seed, 0))
		s := randomSplit(line, rng)
		p := variablesOf(line, s, other)
		verifyVariables(t, line, s, p, int(from), int(to), rng)
		if err := Check(p); err != nil {
			t.Error(err)
		}
	})
}

// Each bit of a filter is checked, and no filter makes a panic.
func TestDamagedVariables(t *testing.T) {
	for i := range kinds {
		var b VariableBuilder
		for _, l := range blockOf(i, 100<<10, 1) {
			b.AddText(l)
		}
		p := b.Append(nil)
		if err := Check(p); err != nil {
			t.Fatal(err)
		}
		n := Substring([]byte(" quagga 123456 ab12cd ")).OfVariables()
		for at := range p {
			if at > 2*variableHeader && at%37 != 0 {
				continue
			}
			p[at] ^= 1 << (at % 8)
			if Check(p) == nil {
				t.Errorf("%s: a bit at %d", kinds[i].name, at)
			}
			May(p, n)
			p[at] ^= 1 << (at % 8)
			if Check(p[:at]) == nil || Check(append(p[:len(p):len(p)], 0)) == nil {
				t.Errorf("%s: a filter of %d bytes cut to %d", kinds[i].name, len(p), at)
			}
		}
	}
}

func FuzzVariablesDecode(f *testing.F) {
	var b VariableBuilder
	b.bytes = 1 << 20
	b.AddText([]byte("user anna: connection 123456 to 10.0.0.12 timed out, 用户"))
	p := b.Append(nil)
	f.Add(p, "anna")
	b.digits[0], b.digits[77] = ^uint64(0), ^uint64(0)
	for i := range b.digits[:200] {
		b.digits[i] = 0x3ff
	}
	f.Add(b.Append(nil), "123456")
	f.Add(Join(nil, p, filterOf([]byte("anna"))), "anna")
	f.Fuzz(func(t *testing.T, p []byte, s string) {
		n := Word([]byte(s))
		if !May(p, n.OfVariables()) && Parts(p) == 0 && len(p) > 1 && p[0] != versionList {
			t.Error("a filter that is not well-formed rules a needle out")
		}
		Check(p)
		May(p, n)
	})
}

func TestVariables(t *testing.T) {
	var b VariableBuilder
	b.bytes = 1 << 20
	for _, c := range []struct {
		line string
		s    split
	}{
		{"user anna logged in from 10.0.0.7", split{5, 9, 25, 33}},
		{"worker12 took 4711 ms", split{6, 8, 14, 18}},
		{"nothing varies here", nil},
		{"block 1234567890 of 38101a0b2096447d", split{6, 16, 20, 36}},
		{"用户 anna 登录失败", split{7, 11}},
		{"at 2001:db8:3e5d::1 10.1.2.", split{3, 19, 27, 27}},
		{"10.9.8.7", split{8, 8}},
		{"10.9.8.6", split{5, 5}},
		{"foobar", split{3, 3}},
	} {
		addLine(&b, []byte(c.line), c.s)
	}
	b.AddText([]byte("登录失败 of metadata"))
	f := b.Append(nil)
	for _, c := range []struct {
		s    string
		word bool
		want bool
	}{
		{"anna", true, true}, {"ann", false, true}, {"nn", false, true}, {"logged", true, false}, {"varies", true, false},
		{"10.0.0.7", true, true}, {"10.0.0.8", true, false}, {"10.9.8.7", true, false}, {"10.9.8.6", true, true},
		{"worker12", true, true}, {"orker1", false, true}, {"worker13", true, false}, {"ker13", false, false},
		{"4711", true, true}, {"4712", true, false}, {"47", false, true}, {"foobar", true, true},
		{"1234567890", true, true}, {"34567", false, true}, {"34568", false, false}, {"23456789", true, false},
		{"38101a0b2096447d", true, true}, {"1a0b2", false, true}, {"1a0b3", false, false}, {"3e5d", true, true}, {"3e5c", true, false},
		{"登录", true, true}, {"登人", true, false}, {"用户", true, false}, {"METADATA", true, true},
		{"bob", true, false}, {"bob", false, false}, {"quagga", false, false},
	} {
		n := Substring([]byte(c.s))
		if c.word {
			n = Word([]byte(c.s))
		}
		if got := May(f, n.OfVariables()); got != c.want {
			t.Errorf("%q, as a word: %v: %v; want %v", c.s, c.word, got, c.want)
		}
		if !May(f, n) {
			t.Errorf("%q: is ruled out without a look at templates", c.s)
		}
	}
}

// Grams that most blocks have are left out, and then rule nothing out.
func TestVariablesWithManyGrams(t *testing.T) {
	var b VariableBuilder
	rng := rand.New(rand.NewPCG(3, 4))
	b.AddText([]byte("quagga"))
	for range 10000 {
		p := make([]byte, 20)
		for i := range p {
			p[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rng.IntN(36)]
		}
		b.AddText(p[:10+rng.IntN(10)])
		for i := range p {
			p[i] = byte('0' + rng.IntN(10))
		}
		b.AddText(p)
	}
	f := b.Append(nil)
	if v, err := readVariables(f); err != nil || v.flags&(flagMixed|flagDigits|flagDigitBits) != 0 {
		t.Fatalf("flags %#x, %v", v.flags, err)
	}
	for _, s := range []string{"ab1cd", "98989898"} {
		if n := Substring([]byte(s)); !May(f, n.OfVariables()) {
			t.Errorf("%q is ruled out", s)
		}
	}
	for _, s := range []string{"ab1cdefg", "98989899"} {
		if n := Word([]byte(s)); May(f, n.OfVariables()) {
			t.Errorf("%q, as a word, is not ruled out", s)
		}
	}
}

// Grams take a small part of a block of any size: here it has nearly as many of those of digits
// as it may have, but for one that is too small for any.
func TestGramsOfSmallBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, size := range []int{0, 100, 3_000, 20_000, 100_000, 1 << 20} {
		var digits, letters VariableBuilder
		for digits.bytes < size {
			five := strconv.Itoa(10_000 + rng.IntN(max(1, min(size/bytesPerVarGram*3/4, 6000))))
			digits.AddText([]byte(five)) // no key, as it is short
			word := make([]byte, 12)
			for i := range word {
				word[i] = 'a' + byte(rng.IntN(26))
			}
			letters.AddText(word)
		}
		for kind, b := range map[string]*VariableBuilder{"digits": &digits, "letters": &letters} {
			p := b.Append(nil)
			v, err := readVariables(p)
			if err != nil {
				t.Fatal(err)
			}
			if has := v.flags&(flagDigits|flagDigitBits) != 0; kind == "digits" && has == (size == 100) {
				t.Errorf("a filter of %d bytes of text has grams of digits: %v", b.bytes, has)
			}
			tokens := packedFuse{bits: tokenBits, fuse: fuseFor(b.tokens.n, 0)}
			if n := len(p) - variableHeader - tokens.size(); n > b.bytes/64+3*8 {
				t.Errorf("grams of %s take %d bytes of a filter of %d bytes of text", kind, n, b.bytes)
			}
		}
	}
}
