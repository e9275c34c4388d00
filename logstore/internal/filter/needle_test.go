package filter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"
)

var seeds = []string{
	"2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.MRAppMaster: appattempt_1445144423722_0020_000001",
	`{"level":"warn","user":"ſteve \u212aelvin","trace":"38101a0b2096447d96eaa692162415ae"}`,
	"blk_-6952295868487656571 terminating NullPointerException in thread-12",
	"错误: 用户 张伟2 登录失败，来自地址 10.0.0.1",
	"データベース接続エラー (サーバー03)",
	"ข้อผิดพลาดในการเชื่อมต่อ v2",
	"서버가 응답하지 않습니다",
	"Straße STRASSE STRAẞE ıstanbul İstanbul ISTANBUL",
	"Ὀδυσσεύς ΟΔΥΣΣΕΥΣ мир МИР",
	"10.0.0.12 1.2.3.4.5 v1.22.333 001.2.3.4é 9.8.7.6\xc3 é7.7.7.7 1.2.3.4错 1.2.3.4567",
	"caf\xc3 \xff\xfe\x80\x80\x80\x80abc\xe2\x82\xac\xe2\x82",
	"\xf0\x9f\x98\x80\xf0\x9f\x98 \xa0\xa1wort\xc3",
	"e\u0301a\u0345 か\u3099 \ufffd",
}

// variant writes s with the cases changed at random.
func variant(s []byte, rng *rand.Rand) (v []byte) {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 {
			v = append(v, s[0])
		} else {
			for range rng.IntN(maxOrbit) {
				r = unicode.SimpleFold(r)
			}
			v = utf8.AppendRune(v, r)
		}
		s = s[n:]
	}
	return v
}

// filterOf builds a filter with grams, however short the texts are.
func filterOf(texts ...[]byte) []byte {
	var b Builder
	b.bytes = 1 << 30
	for _, t := range texts {
		b.Add(t)
	}
	return b.Append(nil)
}

// verifyPart checks that the filter of text does not rule out any part of it.
func verifyPart(t *testing.T, text, filter []byte, from, to int, rng *rand.Rand) {
	t.Helper()
	s := text[from:to]
	v := variant(s, rng)
	for _, n := range [][]byte{s, v} {
		if !May(filter, Substring(n)) {
			t.Errorf("text %q: Substring(%q) is said not to be there", text, n)
		}
		if !ContainsFold(text, n) {
			t.Errorf("text %q: ContainsFold(%q) is false", text, n)
		}
		if HasWord(text, n, true) && !May(filter, Word(n)) {
			t.Errorf("text %q: Word(%q) is said not to be there", text, n)
		}
	}
}

func TestNoPartIsMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, text := range seeds {
		p := []byte(text)
		f := filterOf([]byte("before"), p, []byte("behind"))
		joined := Join(nil, filterOf([]byte("other")), f)
		for from := range len(p) + 1 {
			for to := from; to <= len(p); to++ {
				verifyPart(t, p, f, from, to, rng)
				verifyPart(t, p, joined, from, to, rng)
			}
		}
	}
}

// Texts put together at random from pieces that are likely to fail.
func TestNoPartOfRandomTextIsMissed(t *testing.T) {
	bits := []string{"a", "K", "k", "\u212a", "ſ", "s", "7", "42", "_", " ", "-", "é", "ß", "ẞ", "ı", "İ", "数", "据", "ー", "タ", "ก", "ิ", "서", "\u0301", "\u3099", "\u0345",
		"\xff", "\x80", "\xc3", "\xe6\x95", "\xf0\x9f\x98", "😀", "Ⓐ", "²", "—", "\ufffd", "error", "Ünïcödé", "deadbeef01",
		"10.0.0.1", "255.", ".7", "."}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		var p []byte
		for range rng.IntN(40) {
			p = append(p, bits[rng.IntN(len(bits))]...)
		}
		f := filterOf(p)
		for range 20 {
			from := rng.IntN(len(p) + 1)
			verifyPart(t, p, f, from, from+rng.IntN(len(p)-from+1), rng)
		}
		if t.Failed() {
			return
		}
	}
}

func FuzzNeedle(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []byte("x"+s), uint(i), uint(2*i+5), uint64(i))
	}
	f.Fuzz(func(t *testing.T, text, other []byte, from, to uint, seed uint64) {
		from %= uint(len(text) + 1)
		to = from + to%uint(uint(len(text))-from+1)
		rng := rand.New(rand.NewPCG(seed, 0))
		verifyPart(t, text, filterOf(text, other), int(from), int(to), rng)
		// Around other texts too: their needles may be found there as well.
		v := variant(text[from:to], rng)
		around := slices.Concat(other, v, other)
		verifyPart(t, around, filterOf(around), len(other), len(other)+len(v), rng)
	})
}

// The keys of a needle.
func TestNeedleKeys(t *testing.T) {
	key := func(s string) uint64 { return wordKey([]byte(s)) }
	gram := func(s string) uint64 { return gramKey([]byte(s)) }
	for _, c := range []struct {
		name string
		n    Needle
		want []uint64
		gram int // how many of want are grams
	}{
		{"nothing", Substring(nil), nil, 0},
		{"an open number", Substring([]byte("4711")), nil, 0},
		{"a closed number", Substring([]byte("=4711,")), []uint64{key("4711")}, 0},
		{"a number as a word", Word([]byte("4711")), []uint64{key("4711")}, 0},
		{"an open word", Substring([]byte("fail")), []uint64{gram("FAIL")}, 1},
		{"open words", Substring([]byte("ed user=an")), []uint64{key("USER"), gram("USER")}, 1},
		{"letters before digits", Substring([]byte("task01attempt7")), []uint64{gram("TASK"), gram("ATTE"), gram("TTEM"), gram("TEMP"), gram("EMPT")}, 5},
		{"the longest first", Word([]byte("a to the 99")), []uint64{key("THE"), key("TO"), key("99"), key("A")}, 0},
		{"an address", Word([]byte("10.0.0.12")), []uint64{key("10.0.0.12"), key("10"), key("12"), key("0")}, 0},
		{"an address, open behind", Substring([]byte(" 10.0.0.1")), []uint64{key("10"), key("0")}, 0},
		{"an address, open before", Substring([]byte("1.0.0.2 ")), []uint64{key("0"), key("2")}, 0},
		{"no address", Word([]byte("1.2.3.4567")), []uint64{key("4567"), key("1"), key("2"), key("3")}, 0},
		{"twice the same", Word([]byte("a A a")), []uint64{key("A")}, 0},
		{"one rune", Substring([]byte("错")), []uint64{denseKey(0, '错')}, 0},
		{"three runes", Substring([]byte("错误的")), []uint64{denseKey('错', '误'), denseKey('误', '的')}, 0},
		{"a rune, then three", Substring([]byte("错 误的")), []uint64{denseKey(0, '错'), denseKey('误', '的')}, 0},
		{"cut runes at the ends", Substring([]byte("\xa9 7 \xe9\x94")), []uint64{key("7")}, 0},
		{"a cut rune", Substring([]byte("\x94\x99")), nil, 0},
	} {
		if !slices.Equal(c.n.keys, c.want) || len(c.want)-c.n.tokens != c.gram {
			t.Errorf("%s: keys %x, %d of tokens; want %x, %d grams", c.name, c.n.keys, c.n.tokens, c.want, c.gram)
		}
		if c.n.Empty() != (len(c.want) == 0) {
			t.Errorf("%s: Empty is %v", c.name, c.n.Empty())
		}
	}
}

// The cost of a needle is bounded, however long it is.
func TestLongNeedle(t *testing.T) {
	var s []byte
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		s = append(s, kinds[1].line(rng)...)
	}
	n := Substring(s)
	if len(n.keys) != 2*maxNeedleKeys {
		t.Errorf("%d keys", len(n.keys))
	}
	if !May(filterOf(s), n) {
		t.Error("the text itself is missed")
	}
}
