package filter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// addSlowly is Add without its fast paths: rune by rune, and without a history.
func (b *Builder) addSlowly(text []byte) {
	b.bytes += len(text)
	if end := b.addRunes(text, 0, len(text)); end <= len(text) {
		panic(fmt.Sprintf("%q: a token may begin at %d", text, end))
	}
}

// pieces are what random texts are made of.
var pieces = []string{
	" ", "  ", ".", "..", ",", "-", "_", "\x00", "\xff", "\xc3", "\n",
	"0", "7", "10", "255", "1234", "10.251.3.7", "10.251.3.70", "10.251.3.7.9", "1.2.3.", "1.2.3.4", "v1.2.3.4", "1.2.3.4a", "9.9.9.9ü",
	"a", "INFO", "info", "Received", "block", "blk_", "org.apache.hadoop.hdfs", "dfs.DataNode$PacketResponder:", "abcdefg", "abcdefgh", "abcdefghi",
	"abcdefghijklmnop", "abcdefghijklmnopq", "0123456789abcdef0123456789abcdef0123456789abcdef",
	"é", "müller", "Οδυσσεύς", "e\u0301", "错误", "登录 ", "→", "한국", "\u00a0",
}

// randomLine repeats a part of an earlier line, or adds pieces.
func randomLine(rng *rand.Rand, lines [][]byte) (line []byte) {
	for n := rng.IntN(12); n > 0; n-- {
		if len(lines) > 0 && rng.IntN(2) == 0 {
			old := lines[len(lines)-1-rng.IntN(min(len(lines), 20))]
			from := rng.IntN(len(old) + 1)
			line = append(line, old[from:from+rng.IntN(len(old)-from+1)]...)
			continue
		}
		line = append(line, pieces[rng.IntN(len(pieces))]...)
	}
	return line
}

// A block's keys are those that the slow way finds, whatever was in it before, and
// in the blocks before it.
func TestAddFindsWhatSlowFinds(t *testing.T) {
	var fast, slow Builder
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 14))
		fast.Reset()
		slow.Reset()
		var lines [][]byte
		for range 1 + rng.IntN(60) {
			l := randomLine(rng, lines)
			lines = append(lines, l)
			fast.Add(l)
			slow.addSlowly(l)
			sameKeys(t, &fast, &slow, func() string { return fmt.Sprintf("seed %d: %q", seed, lines) })
		}
		if a, b := fast.Append(nil), slow.Append(nil); !bytes.Equal(a, b) {
			t.Fatalf("seed %d: the filters differ", seed)
		}
	}
}

func sameKeys(t *testing.T, a, b *Builder, what func() string) {
	t.Helper()
	if a.tokens.n != b.tokens.n || a.grams.n != b.grams.n || a.bytes != b.bytes {
		t.Fatalf("%s: %d tokens and %d grams; want %d and %d", what(), a.tokens.n, a.grams.n, b.tokens.n, b.grams.n)
	}
	for k := range b.tokens.all {
		if !a.tokens.has(k) {
			t.Fatalf("%s: a token is missing", what())
		}
	}
	for k := range b.grams.all {
		if !a.grams.has(k) {
			t.Fatalf("%s: a gram is missing", what())
		}
	}
}

// Texts longer than the history, and blocks much longer.
func TestHistoryOverLongTexts(t *testing.T) {
	var fast, slow Builder
	rng := rand.New(rand.NewPCG(1, 14))
	for _, size := range []int{historySize - 100, 3 * historySize, 100, historySize / 2, historySize, 200} {
		var text []byte
		for lines := [][]byte(nil); len(text) < size; text = append(text, lines[len(lines)-1]...) {
			lines = append(lines, randomLine(rng, lines))
		}
		fast.Add(text)
		slow.addSlowly(text)
		sameKeys(t, &fast, &slow, func() string { return fmt.Sprint(size, " bytes") })
	}
	for i := range blockOf(0, historySize*3, 2) {
		l := fmt.Appendf(nil, "%d user %d from 10.%d.%d.%d", i, i%7, i%3, i%11, i%13)
		fast.Add(l)
		slow.addSlowly(l)
	}
	sameKeys(t, &fast, &slow, func() string { return "many lines" })
}

// What is skipped of a line ends where no word, and no quad, extends across.
func TestCutBack(t *testing.T) {
	for _, c := range []struct{ skipped, cut string }{
		{"from 10.251.3.7 port ", "from 10.251.3.7 port "},
		{"from 10.251.3.7 po", "from 10.251.3.7 "},
		{"from 10.251.3.", "from "},
		{"from 10.251", "from "},
		{"org.apache.had", "org.apache."},
		{"abcdef", ""},
		{"1.2.3", ""},
		{"x " + strings.Repeat("a", maxCut), ""},
		{"x " + strings.Repeat("a", maxCut-1), "x "},
	} {
		p := append([]byte{0}, c.skipped...)
		if got := cutBack(p, 1, len(p)); got != 1+len(c.cut) {
			t.Errorf("%q is cut to %q; want %q", c.skipped, p[1:got], c.cut)
		}
	}
}

// Lines that repeat take no memory once the Builder has seen a block of them.
func TestAddAllocatesNothing(t *testing.T) {
	lines := slices.Concat(blockOf(0, 100_000, 1), blockOf(2, 100_000, 1))
	var b Builder
	block := func() {
		b.Reset()
		for _, l := range lines {
			b.Add(l)
		}
	}
	block()
	if n := testing.AllocsPerRun(5, block); n > 0 {
		t.Errorf("%v allocations in a block; want 0", n)
	}
}
