package filter

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The format of a filter and its keys outlast the program that wrote it: a
// change of either needs a new version.
func TestFormat(t *testing.T) {
	one := filterOf([]byte("Hello, 世界 10.0.0.12"), []byte("ſtele"))
	none := filterOf()
	for _, f := range [][]byte{one, none} {
		if err := Check(f); err != nil {
			t.Fatal(err)
		}
		// The version of Unicode changes with package unicode, and so does the
		// checksum.
		clear(f[atUnicode:atBits])
		clear(f[atSum:oneHeader])
	}
	for _, c := range []struct {
		name   string
		filter []byte
		want   string
	}{
		{"one", one, "0101000003000000000000000000000000bc0000000096005e0000c100000e001d25f8e00038e8df0011"},
		{"none", none, "01010000000000000000"},
		{"list", Join(nil, one, none), "022a0101000003000000000000000000000000bc0000000096005e0000c100000e001d25f8e00038e8df00110a01010000000000000000"},
	} {
		if got := hex.EncodeToString(c.filter); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name      string
		key, want uint64
	}{
		{"word", wordKey([]byte("STELE")), 0x4131d0927abaaba7},
		{"long word", wordKey([]byte("38101A0B2096447D96EAA692162415AE7")), 0x4bf18ae35a925437},
		{"rune", denseKey(0, '世'), 0x76a5fbc9df019acb},
		{"runes", denseKey('世', '界'), 0x2fa2dbf0ea681359},
		{"gram", gramKey([]byte("TELE")), 0x4b05d5ba70f37fb5},
		{"hash", hashOf(1, 2), 0xee727743fdb33008},
	} {
		if c.key != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, c.key, c.want)
		}
	}
}

// Of the keys that are not in a filter, fewer than 0.6 % seem to be.
func TestFalsePositives(t *testing.T) {
	for _, size := range []int{50, 1000, 5000, 30000} {
		f := withKeys(size, 1).Append(nil)
		if err := Check(f); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 0)) // first the keys that are there
		hits, tries := 0, 200_000
		for i := range size + tries {
			has := May(f, Needle{keys: []uint64{rng.Uint64()}, tokens: 1})
			if i < size && !has {
				t.Fatalf("%d keys: one is missed", size)
			}
			if i >= size && has {
				hits++
			}
		}
		rate := float64(hits) / float64(tries)
		t.Logf("%d keys: %.2f bytes a key, %.3f %% false", size, float64(len(f))/float64(size), 100*rate)
		if rate > 0.006 || rate == 0 {
			t.Errorf("%d keys: %.3f %% of others seem to be there", size, 100*rate)
		}
	}
}

// A rare word must rule out nearly all blocks of its kind, and so must a part
// of one.
func TestSkips(t *testing.T) {
	var filters [][]byte
	for i := range 100 {
		filters = append(filters, filterOf(blockOf(i%len(kinds), 32<<10, uint64(i))...))
	}
	for _, n := range []struct {
		name string
		n    Needle
	}{
		{"word", Word([]byte("quagga"))},
		{"number", Word([]byte("31415926"))},
		{"part of a word", Substring([]byte("uagg"))},
		{"address", Substring([]byte(" 10.77.91.3 "))},
		{"Chinese", Substring([]byte("斑驴"))},
		{"Greek", Substring([]byte("ζέβρα"))},
	} {
		passed := 0
		for _, f := range filters {
			if May(f, n.n) {
				passed++
			}
		}
		if passed > 4 {
			t.Errorf("%s: %d of %d blocks pass", n.name, passed, len(filters))
		}
	}
}

func TestJoin(t *testing.T) {
	a, b, c := filterOf([]byte("alpha 1")), filterOf([]byte("beta 2")), filterOf([]byte("gamma 3"))
	flat := Join(nil, a, b, c)
	for name, f := range map[string][]byte{
		"flat":   flat,
		"nested": Join(nil, Join(nil, a, b), c),
		"deep":   Join(nil, a, Join(nil, Join(nil, b), Join(nil, c))),
	} {
		if !bytes.Equal(f, flat) {
			t.Errorf("%s is not as flat", name)
		}
		if err := Check(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range []string{"alpha", "beta", "gamma", "alpha 1"} {
			if !May(f, Word([]byte(s))) {
				t.Errorf("%s: %s is missed", name, s)
			}
		}
		for _, s := range []string{"delta", "alpha beta"} { // two blocks have that, none has both
			if May(f, Word([]byte(s))) {
				t.Errorf("%s: %s is there", name, s)
			}
		}
	}
	if got := Join([]byte("before"), a); !bytes.Equal(got, append([]byte("before"), a...)) {
		t.Error("a list of one is not that one")
	}
	none := Join(nil)
	if Check(none) != nil || May(none, Word([]byte("a"))) || !May(none, Needle{}) {
		t.Error("a list of none has something, or is damaged")
	}
	if every := Join([]byte{9}, a, []byte{versionEvery}); !bytes.Equal(every, []byte{9, versionEvery}) {
		t.Errorf("with one that has everything: %x", every)
	}
	if damaged := Join(nil, a, b[:5]); Check(damaged) != nil || !May(damaged, Word([]byte("delta"))) {
		t.Error("what is joined with a damaged filter must have everything")
	}
}

// If a rune was not a letter when the filter was made, the filter rules out no
// needle that has it.
func TestOtherUnicode(t *testing.T) {
	f := filterOf([]byte("alpha"))
	f[atUnicode]--
	for s, want := range map[string]bool{"beta": false, "alpha": true, "bêta": true} {
		if got := May(f, Word([]byte(s))); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

// Grams of codes made of letters would cost more than all other keys.
func TestGramsAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	code := func() []byte {
		c := make([]byte, 60)
		for i := range c {
			c[i] = "abcdefghijklmnopqrstuvwxyz"[rng.IntN(26)]
		}
		return c
	}
	var b Builder
	var first []byte
	n := 0
	for range 2000 {
		c := code()
		if first == nil {
			first = c
		}
		b.Add(c)
		n += len(c)
	}
	f := b.Append(nil)
	if len(f) > n/16 {
		t.Errorf("%d bytes for %d of text", len(f), n)
	}
	if !May(f, Substring(first[5:30])) {
		t.Error("a part is missed")
	}
	if !May(f, Word(first)) || May(f, Word(code())) {
		t.Error("a whole one is missed, or another is there")
	}
	// The next block is filtered again.
	b.Reset()
	for _, l := range blockOf(0, 64<<10, 1) {
		b.Add(l)
	}
	if f := b.Append(nil); f[atFlags] != flagGrams || May(f, Substring([]byte("uagg"))) {
		t.Error("no grams after Reset")
	}
	b.Reset()
	for range 100 {
		b.Add(code())
	}
	if f := b.Append(nil); f[atFlags] != 0 {
		t.Error("grams of codes, for the bytes of the block before")
	}
}

func TestReset(t *testing.T) {
	lines := blockOf(2, 64<<10, 1)
	want := filterOf(lines...)
	var b Builder
	b.Add(bytes.Repeat([]byte("x "), 1000))
	for i := range 1 << 17 {
		b.Add(fmt.Append(nil, i))
	}
	large := len(b.tokens.slots)
	for range 10 {
		b.Reset()
		for _, l := range lines {
			b.Add(l)
		}
		f := b.Append(nil)
		if !bytes.Equal(f, want) {
			t.Fatal("another filter than that of a new Builder")
		}
		for _, l := range lines[:100] {
			if !May(f, Substring(l)) {
				t.Fatalf("%s is missed", l)
			}
		}
	}
	if small := len(b.tokens.slots); small >= large/2 {
		t.Errorf("%d of %d slots are kept for %d keys", small, large, b.tokens.n)
	}
	b.Reset()
	if May(b.Append(nil), Word([]byte("x"))) {
		t.Error("Reset left something")
	}
}

func TestNoAllocations(t *testing.T) {
	var b Builder
	var p []byte
	var blocks [][][]byte
	for i := range kinds {
		blocks = append(blocks, blockOf(i, 32<<10, 1))
	}
	run := func() {
		for _, lines := range blocks {
			b.Reset()
			for _, l := range lines {
				b.Add(l)
			}
			p = b.Append(p[:0])
		}
	}
	for range 10 {
		run() // the tables find their size
	}
	if n := testing.AllocsPerRun(5, run); n != 0 {
		t.Errorf("%v allocations for some blocks", n)
	}
	n, list := Substring([]byte(" alpha 张伟 ")), Join(nil, p, p)
	if n := testing.AllocsPerRun(100, func() { May(p, n); May(list, n); _ = Check(list) }); n != 0 {
		t.Errorf("%v allocations to look a needle up", n)
	}
}

// Check finds each flipped bit, and May does not panic.
func TestDamage(t *testing.T) {
	n := Word([]byte("alpha"))
	one := filterOf([]byte("alpha beta gamma"), []byte("delta"))
	for name, f := range map[string][]byte{"one": one, "list": Join(nil, one, filterOf([]byte("other")), filterOf())} {
		for i := range f {
			for bit := range 8 {
				f[i] ^= 1 << bit
				if Check(f) == nil {
					t.Errorf("%s: bit %d of byte %d is not missed", name, bit, i)
				}
				May(f, n)
				f[i] ^= 1 << bit
			}
		}
		for i := range f {
			if name == "list" && i > 0 && Check(f[:i]) == nil {
				// A list cut after a part is a list; the caller knows its
				// length.
				continue
			}
			if Check(f[:i]) == nil || !May(f[:i], n) {
				t.Errorf("%s: the first %d bytes pass", name, i)
			}
		}
	}
	for _, f := range []string{"", "\x00", "\x04", "\x01", "\x02\x00", "\x02\x7f", "\x02" + strings.Repeat("\xff", 11), "\x03\x03", "\x02\x01\x02"} {
		if Check([]byte(f)) == nil || !May([]byte(f), n) {
			t.Errorf("%x is a filter", f)
		}
	}
}

func FuzzFilter(f *testing.F) {
	one := filterOf([]byte("alpha beta gamma"), []byte("错误"))
	f.Add(one, one)
	f.Add(Join(nil, one, one), []byte{versionEvery})
	f.Add(one[:oneHeader], filterOf())
	needles := []Needle{Word([]byte("alpha")), Substring([]byte("错误 betaga")), {}}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		errA, errB := Check(a), Check(b)
		j := Join(nil, a, b)
		if errA == nil && errB == nil && Check(j) != nil {
			t.Errorf("whole filters make a damaged one: %x", j)
		}
		for _, n := range needles {
			mayA, mayB := May(a, n), May(b, n)
			if (mayA || mayB) && !May(j, n) {
				t.Errorf("what %x or %x may have %x has not", a, b, j)
			}
		}
	})
}

func TestParts(t *testing.T) {
	var b Builder
	b.Add([]byte("some words"))
	one := b.Append(nil)
	two := Join(nil, one, one)
	for _, c := range []struct {
		name   string
		filter []byte
		want   int
	}{
		{"as built", one, 1}, {"joined", two, 2}, {"joined again", Join(nil, two, one), 3},
		{"every", []byte{versionEvery}, 0}, {"with none", Join(nil, one, nil), 0}, {"none", nil, 0}, {"cut", two[:len(two)-1], 0},
	} {
		if n := Parts(c.filter); n != c.want {
			t.Errorf("%s: %d parts, want %d", c.name, n, c.want)
		}
	}
}
