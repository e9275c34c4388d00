package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func tokensOf(text string) (all []string) {
	var c tokenizer
	c.reset([]byte(text), 0)
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.folded != nil:
			all = append(all, string(t.folded))
		case t.before != 0:
			all = append(all, "<"+string(t.before)+string(t.dense))
		default:
			all = append(all, "<"+string(t.dense))
		}
	}
	return all
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // separated by spaces; < before each dense one
	}{
		{"", ""},
		{"... --", ""},
		{"user=Anna_Karenina id:42", "USER ANNA KARENINA ID 42"},
		{"0x1F,3.14", "0X1F 3 14"},
		{"a\x00b\xffc\xe2\x80", "A B C"},
		{"Müller MÜLLER Straße STRAẞE", "MÜLLER MÜLLER STRAßE STRAßE"}, // 0x1E9E and 0xDF are one letter, ü folds to Ü
		{"ſtele \u212aelvin", "STELE KELVIN"},
		{"ıstanbul İstanbul", "ıSTANBUL İSTANBUL"}, // the dotless and the dotted i are letters of their own
		{"Ὀδυσσεύς ὈΔΥΣΣΕΎΣ", "ὀΔΥΣΣΕΎΣ ὀΔΥΣΣΕΎΣ"},
		{"мир МИР", "МИР МИР"},
		{"e\u0301t\u00e9", "E\u0301TÉ"}, // a mark is part of a word
		{"السلام عليكم", "السلام عليكم"},
		{"हिन्दी", "हिन्दी"},
		{"错误: 用户v2登录", "<错 <错误 <用 <用户 V2 <登 <登录"},
		{"データ", "<デ <デー <ータ"},
		{"か\u3099き", "<か <か\u3099 <\u3099き"},
		{"ไทย", "<ไ <ไท <ทย"},
		{"서버가", "<서 <서버 <버가"},
		{"a错b", "A <错 B"},
		{"\U00020000\U00020001", "<\U00020000 <\U00020000\U00020001"},
		{"²½ Ⅷ ⅷ", "²½ Ⅷ Ⅷ"},
		{"ＡＢ ａｂ", "ＡＢ ＡＢ"},
	} {
		if got := strings.Join(tokensOf(c.text), " "); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A rune and its other cases must fold to the same rune, in no more bytes.
func TestFoldKeepsClass(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		c, f := classifySlowly(r)
		orbit := 1
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			orbit++
			oc, of := classifySlowly(o)
			if oc != c || c != gap && of != f {
				t.Errorf("%U is %v, %U; %U is %v, %U", r, c, f, o, oc, of)
			}
		}
		if orbit > maxOrbit {
			t.Errorf("%U has %d variants", r, orbit)
		}
		if f > r || utf8.RuneLen(f) > utf8.RuneLen(r) {
			t.Errorf("%U folds to %U", r, f)
		}
		if gotC, gotF := classify(r); gotC != c || gotF != f {
			t.Errorf("classify(%U) = %v, %U, want %v, %U", r, gotC, gotF, c, f)
		}
		if r < utf8.RuneSelf {
			if a := rune(asciiFold[r]); (a != 0) != (c == word) || a != 0 && a != f {
				t.Errorf("asciiFold[%q] = %q, want class %v, %q", r, a, c, f)
			}
		}
	}
}

// Add reads ASCII by its own code, not by the tokenizer, and switches between
// them.
func TestAddCutsAlike(t *testing.T) {
	var texts []string
	for n := range 200 {
		texts = append(texts, strings.Repeat("x", n), strings.Repeat("-", n)+"ab"+strings.Repeat(".", n%7)+"cd")
	}
	for c := range utf8.RuneSelf {
		texts = append(texts, fmt.Sprintf("ab%ccd%c%c", c, c, c))
	}
	for i := range kinds {
		for _, l := range blockOf(i, 8<<10, 3) {
			texts = append(texts, string(l))
		}
	}
	for i, s := range seeds {
		for n := range 70 {
			texts = append(texts, strings.Repeat("a.", n/2)+strings.Repeat("b", n%2)+s+seeds[0]+s)
		}
		texts = append(texts, strings.Join(seeds[i:], " "), strings.Join(seeds[i:], ""))
	}
	for _, text := range texts {
		var fast, slow Builder
		fast.Add([]byte(text))
		slow.addRunes([]byte(text), 0, len(text))
		for _, s := range [][2]*keySet{{&fast.tokens, &slow.tokens}, {&fast.grams, &slow.grams}} {
			got, want := slices.Sorted(s[0].all), slices.Sorted(s[1].all)
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %d keys, want %d", text, len(got), len(want))
			}
		}
	}
}
