package filter

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// units splits a text into folded runes, and into bytes where it is not UTF-8;
// bytes are negative.
func units(p []byte) (u []rune) {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			u = append(u, -rune(p[0]))
		} else {
			u = append(u, fold(r))
		}
		p = p[n:]
	}
	return u
}

// tokenAt returns for each byte of text the number of its token, 0 for none.
func tokenAt(text []byte) []int {
	at := make([]int, len(text)+1)
	var c tokenizer
	c.reset(text, 0)
	for i := 1; ; i++ {
		t, ok := c.next()
		if !ok {
			return at
		}
		for j := t.start; j < t.end; j++ {
			at[j] = i
		}
	}
}

// The definition of a word match, slow and obvious: text[i:j] is s, and no
// token extends across either end.
func slowHasWord(text, s []byte, folded bool) bool {
	at := tokenAt(text)
	cuts := func(i int) bool { return i > 0 && at[i] != 0 && at[i-1] == at[i] }
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			same := bytes.Equal(text[i:j], s)
			if folded {
				same = slowEqualFold(text[i:j], s)
			}
			if same && !cuts(i) && !cuts(j) {
				return true
			}
		}
	}
	return false
}

func slowEqualFold(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ua, ub := units(a), units(b)
	if len(ua) != len(ub) {
		return false
	}
	for i := range ua {
		if ua[i] != ub[i] {
			return false
		}
	}
	return true
}

func TestHasWord(t *testing.T) {
	for _, c := range []struct {
		text, s       string
		exact, folded bool
	}{
		{"", "", true, true},
		{"abc", "", true, true},
		{"a failed call", "failed", true, true},
		{"a Failed call", "failed", false, true},
		{"unfailed failed2 failed", "failed", true, true},
		{"unfailed failed2", "failed", false, false},
		{"x=abc", "=abc", true, true}, // an end that is no letter cuts nothing
		{"x=abcd", "=abc", false, false},
		{"blk_-6952", "-6952", true, true},
		{"blk_-69521", "-6952", false, false},
		{"10.0.0.12", "10.0.0.1", false, false},
		{"straße STRAẞE", "STRASSE", false, false},
		{"STRAẞE", "straße", false, true},
		{"30 \u212aelvin", "kelvin", false, true},
		{"\u212a\u212a k", "K", false, true},
		{"caf\u00e9", "caf", false, false},
		{"caf\xff", "caf", true, true},
		{"caf\xc3\xa9", "caf\xc3", false, false}, // inside a letter
		{"caf\u2014", "caf\xe2\x80", true, true}, // inside a dash
		{"大数据库v2", "数据", true, true},
		{"大数据库v2", "v2", true, true},
		{"大数据库v2", "库v", false, false},
		{"用户müller登录", "MÜLLER", false, true},
		{"서버가", "서버", true, true},
		{"e\u0301a", "e", false, false}, // the mark belongs to it
	} {
		text, s := []byte(c.text), []byte(c.s)
		if got := HasWord(text, s, false); got != c.exact {
			t.Errorf("HasWord(%q, %q) = %v", c.text, c.s, got)
		}
		if got := HasWord(text, s, true); got != c.folded {
			t.Errorf("HasWord(%q, %q), folded = %v", c.text, c.s, got)
		}
	}
}

func TestContainsFold(t *testing.T) {
	for _, c := range []struct {
		text, s string
		want    bool
	}{
		{"", "", true},
		{"abc", "", true},
		{"", "a", false},
		{"abcABC", "cab", true},
		{"aab", "AB", true},
		{"a@", "a`", false}, // differ in the bit of case, and are no letters
		{"1\x11", "11", false},
		{"ſtele", "STELE", true},
		{"Ⓐ", "ⓐ", true}, // has a case, and is no letter
		{"ß", "ẞ", true},
		{"ß", "ss", false},
		{"i", "ı", false},
		{"i", "İ", false},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ", true},
		{"\ufffd", "\xff", false},
		{"\xff", "\ufffd", false},
		{"a\xffB", "A\xFFb", true},
		{"é", "\xa9", true},
		{"é", "\xc3", true},
		{"éx", "\xa9X", true},
		{"错误", "误", true},
	} {
		if got := ContainsFold([]byte(c.text), []byte(c.s)); got != c.want {
			t.Errorf("ContainsFold(%q, %q) = %v", c.text, c.s, got)
		}
	}
}

// A match that is not a word must not restart the search.
func TestHasWordIsLinear(t *testing.T) {
	for _, unit := range []string{"k", "\u212a", "é", "kſ"} {
		text := append(bytes.Repeat([]byte(unit), 1<<20/len(unit)), 'x')
		for _, folded := range []bool{false, true} {
			if HasWord(text, []byte("kx"), folded) {
				t.Errorf("%q has the word", unit)
			}
		}
	}
}

// The fast searches agree with the slow ones.
func FuzzMatch(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte("Ab"))
		f.Add([]byte(s), []byte(s[len(s)/3:2*len(s)/3]))
	}
	f.Fuzz(func(t *testing.T, text, s []byte) {
		if len(text) > 40 || len(s) > 20 {
			return
		}
		want := false
		for i := range len(text) + 1 {
			for j := i; j <= len(text); j++ {
				want = want || slowEqualFold(text[i:j], s)
			}
		}
		if got := ContainsFold(text, s); got != want {
			t.Errorf("ContainsFold(%q, %q) = %v", text, s, got)
		}
		for _, folded := range []bool{false, true} {
			if got, want := HasWord(text, s, folded), slowHasWord(text, s, folded); got != want {
				t.Errorf("HasWord(%q, %q, %v) = %v", text, s, folded, got)
			}
		}
	})
}
