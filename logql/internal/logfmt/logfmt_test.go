package logfmt

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// pairs reads a line, and goes on behind errors.
func pairs(line string) string {
	var s Scanner
	var p Pair
	var out []string
	for s.Init([]byte(line)); ; {
		if s.Next(&p) {
			out = append(out, fmt.Sprintf("%s=%s", p.Key, AppendUnescaped(nil, p.Value)))
			continue
		}
		if s.Err() == nil {
			return strings.Join(out, "|")
		}
		out = append(out, "!"+s.Err().Error())
	}
}

func TestPairs(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "",
		"a=1 b=x":                      "a=1|b=x",
		"  a=1\tb=2\n":                 "a=1|b=2",
		"flag a= b":                    "flag=|a=|b=",
		`a="x y" b="" c="q\"\n\u00e9"`: "a=x y|b=|c=q\"\né",
		`a="x"b="y"`:                   "a=x|b=y",
		"=1 b=2":                       "!logfmt syntax error at pos 1 : unexpected '='|b=2",
		"a==1 b=2":                     "!logfmt syntax error at pos 3 : unexpected '='|b=2",
		`a=x"y b=2`:                    `!logfmt syntax error at pos 4 : unexpected '"'|b=2`,
		`"a"=1 b=2`:                    `!logfmt syntax error at pos 1 : unexpected '"'|b=2`,
		`a="x b=2`:                     "!logfmt syntax error at pos 9 : unterminated quoted value",
		`a="x\" b=2`:                   "!logfmt syntax error at pos 11 : unterminated quoted value",
		`a="\x" b=2`:                   "!logfmt syntax error at pos 7 : invalid quoted value|b=2",
		`a="\ud83d\ude00"`:             "a=😀",
		`a="\ud83d" b`:                 "a=\uFFFD|b=",
		`a="`:                          "!logfmt syntax error at pos 4 : unterminated quoted value",
		`a="x\`:                        "!logfmt syntax error at pos 6 : unterminated quoted value",
	} {
		if got := pairs(line); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestWrittenPairsAreRead(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var line, want []string
		for range random.IntN(5) {
			key := string("abc_é9-"[random.IntN(3)]) + strconv.Itoa(random.IntN(9))
			value := make([]rune, random.IntN(6))
			for i := range value {
				value[i] = []rune("ab \"\\\n=é日\t")[random.IntN(10)]
			}
			line = append(line, key+"="+strconv.Quote(string(value)))
			want = append(want, key+"="+string(value))
		}
		if got := pairs(strings.Join(line, " ")); got != strings.Join(want, "|") {
			t.Fatalf("%s: %q; want %q", line, got, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(`a=1 b="x \"y" =2 "c" d="\u00e9`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var s Scanner
		var p Pair
		steps := 0
		for s.Init(line); ; steps++ {
			if steps > 2*len(line)+2 {
				t.Fatal("it does not end")
			}
			if !s.Next(&p) {
				if s.Err() == nil {
					return
				}
				continue
			}
			if len(p.Key) == 0 {
				t.Fatal("a pair without a key")
			}
			if got := AppendUnescaped(nil, p.Value); utf8.Valid(line) && !utf8.Valid(got) {
				t.Fatalf("%q is not UTF-8", got)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`ts=2026-03-01T10:00:47Z level=error caller=auth.go:37 msg="user alice logged in" user=alice addr=10.0.1.12:1919 took=1m3s size=3.2MB status=404 value=58.388`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var s Scanner
		var p Pair
		for s.Init(line); s.Next(&p); {
		}
	}
}
