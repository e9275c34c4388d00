package dfa

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"testing"
)

func compile(t testing.TB, pattern string) *DFA {
	t.Helper()
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	p := Compile(re)
	if p == nil {
		t.Fatalf("Compile(%q) = nil", pattern)
	}
	return New(p, nil)
}

var patterns = []string{
	`a`, `abc`, `a|b|`, `^$`, `^a`, `a$`, `^abc$`, `\bfoo\b`, `\Boo\B`, `(?m)^b$`, `(?i)straße|k`, `(?s)a.b`, `a.b`,
	`[^a-z]+x`, `\d+\.\d+\.\d+\.\d+`, `(timeout|refused|denied) *[a-z]*[0-9]+`, `[äöü]+ß`, `\x{FFFD}`, `[\x{80}-\x{10FFFF}]`,
	`(a|b)*a(a|b){3}`, `x{2,5}y?`, `\A\d`, `\w+\z`, `(^|,)x(,|$)`, `$^`, `\b`, `\B`, `.`, `(?:)`, `[^\x00-\x{10FFFF}]`, `a\b.`, `\pL+\d`,
}

var texts = []string{
	"", "a", "b", "ab", "abc", "xabcx", "foo", "a foo b", "foobar", "fooo", "a\nb", "b\nb\n", "STRASSE", "STRAẞE", "straße", "\u212a", "ſ",
	"10.0.0.1", "1.2.3", "connection refused  by9", "denied 7", "timeout", "ü", "üß", "\xff", "a\xffb", "\xc3", "�", "日本", "aabab", "bbbb", "xxxy",
	"x,", ",x", "a,x,b", "\n", "é9", " ",
}

func TestMatchIsRegexp(t *testing.T) {
	for _, pattern := range patterns {
		re, d := regexp.MustCompile(pattern), compile(t, pattern)
		for range 2 {
			for _, text := range texts {
				if got, ok := d.Match([]byte(text)); !ok || got != re.MatchString(text) {
					t.Errorf("%q in %q: %v, %v; want %v", pattern, text, got, ok, !got)
				}
			}
		}
	}
}

func TestManyStates(t *testing.T) {
	pattern := `(a|b)*a(a|b){14}c`
	re, d := regexp.MustCompile(pattern), compile(t, pattern)
	random := rand.New(rand.NewPCG(1, 2))
	gaveUp := false
	for range 500 {
		text := make([]byte, random.IntN(200))
		for i := range text {
			text[i] = "aaabbbc"[random.IntN(7)]
		}
		got, ok := d.Match(text)
		gaveUp = gaveUp || !ok
		if ok && got != re.Match(text) {
			t.Fatalf("%q in %q: %v", pattern, text, got)
		}
		if d.used > MaxBytes+4096 {
			t.Fatalf("%d bytes of states; want at most %d", d.used, MaxBytes)
		}
	}
	if !gaveUp {
		t.Error("an automaton with thousands of states never gave up")
	}
}

// Automata give up when they may not grow, and take what they ask for.
func TestGrow(t *testing.T) {
	tree, err := syntax.Parse(`(a|b)*a(a|b){12}c`, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	p := Compile(tree)
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = "ab"[random.IntN(2)]
	}
	for _, most := range []int64{0, 100_000, 300_000} {
		asked := int64(0)
		d := New(p, func(bytes int64) bool {
			if asked+bytes > most {
				return false
			}
			asked += bytes
			return true
		})
		for range 20 {
			if match, ok := d.Match(text); ok && match {
				t.Error("a match")
			}
		}
		if !d.gone || asked > most || d.used > int(asked)+4096 {
			t.Errorf("of %d bytes: gave up %v, asked for %d, uses %d", most, d.gone, asked, d.used)
		}
	}
}

// An automaton gives back all that it was allowed.
func TestRelease(t *testing.T) {
	tree, err := syntax.Parse(`[a-z]+\d+x`, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	d := New(Compile(tree), func(bytes int64) bool {
		kept += bytes
		return true
	})
	if d.Match([]byte("abc12x")); kept == 0 {
		t.Error("an automaton that takes no memory")
	}
	d.Release()
	d.Release()
	if _, ok := d.Match([]byte("abc12x")); ok || kept != 0 {
		t.Errorf("after Release: %d bytes are not given back; ok %v, want false", kept, ok)
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	d := compile(t, `\d+\.\d+\.\d+\.\d+`)
	line := []byte("Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186")
	if n := testing.AllocsPerRun(100, func() { d.Match(line) }); n != 0 {
		t.Errorf("%v allocations a match", n)
	}
}

func FuzzMatch(f *testing.F) {
	for i, p := range patterns {
		f.Add(p, []byte(texts[i%len(texts)]), []byte(texts[(i*7+3)%len(texts)]))
	}
	f.Fuzz(func(t *testing.T, pattern string, a, b []byte) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 200 {
			t.Skip()
		}
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Skip()
		}
		p := Compile(tree)
		if p == nil {
			t.Skip()
		}
		d := New(p, nil)
		for _, text := range [][]byte{a, b, append(append([]byte{}, b...), a...), a} {
			if got, ok := d.Match(text); ok && got != re.Match(text) {
				t.Fatalf("%q in %q: %v", pattern, text, got)
			}
		}
	})
}

var lines = [][]byte{
	[]byte("081109 204005 35 INFO dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.251.73.220:50010 is added to blk_7128370237687728475 size 67108864"),
	[]byte("2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: Created MRAppMaster for application appattempt_1445144423722_0020_000001"),
	[]byte("03-17 16:13:38.819  1702  8671 D PowerManagerService: acquire lock=233570404, flags=0x1, tag=\"View Lock\", name=com.android.systemui, ws=null, uid=10037, pid=2227"),
}

func BenchmarkMatch(b *testing.B) {
	for _, pattern := range []string{`\d+\.\d+\.\d+\.\d+`, `(timeout|refused|denied) *[a-z]*[0-9]+`} {
		b.Run("by=dfa/"+pattern, func(b *testing.B) {
			d := compile(b, pattern)
			for i := 0; b.Loop(); i++ {
				d.Match(lines[i%len(lines)])
			}
		})
		b.Run("by=regexp/"+pattern, func(b *testing.B) {
			re := regexp.MustCompile(pattern)
			for i := 0; b.Loop(); i++ {
				re.Match(lines[i%len(lines)])
			}
		})
	}
}
