package match

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var groupPatterns = []string{
	`(a)(b)?`, `(a|ab)(c|bcd)(d*)`, `(?P<x>\w+) (?P<y>\d+)`, `^(\S+) (.*)$`, `(a*)*`, `(a*)+b`, `(?:(a)|(b))*`, `(a+?)(a*)`, `\b(\w)(\w*)\b`, `x(y)?z`, `(?i)(ERR)or`,
	`(?m)^(b)$`, `(?s)(.*)b`, `(é+)|(.)`, `(a{2,3})(a?)`, `()`, `[^a](b|$)`, `\B(a)`, `ab(c)`,
}

func TestFinderIsRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range append(groupPatterns, patterns...) {
		re := regexp.MustCompile(p)
		f := NewFinder(re)
		for range 60 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString([]string{"a", "b", "c", "d", "x", "y", "z", " ", "1", "\n", "é", "\xff", "ERR", "or", "ab"}[r.IntN(15)])
			}
			checkFinder(t, f, re, b.String())
		}
	}
	re := regexp.MustCompile(`(a)(b) (1)x`) // more than it has space for
	checkFinder(t, NewFinder(re).Clone(nil), re, strings.Repeat("ab 1\n", 30_000)+"ab 1x")
}

// A Finder asks for its memory, finds the same without, and gives it back.
func TestFinderGrows(t *testing.T) {
	re := regexp.MustCompile(`((a|b|c)*)x(y)`)
	text := strings.Repeat("abc", 2000) + "xy"
	for _, most := range []int64{0, 5000, 200_000, 1 << 30} {
		asked := int64(0)
		f := NewFinder(re).Clone(func(bytes int64) bool {
			if asked+bytes > most {
				return false
			}
			asked += bytes
			return true
		})
		for range 3 {
			checkFinder(t, f, re, text)
			checkFinder(t, f, re, "abxy")
		}
		if took := int64(cap(f.stack))*choiceBytes + int64(8*cap(f.visited)); took != asked || most == 1<<30 && took < 100_000 {
			t.Errorf("of %d bytes: took %d, asked for %d", most, took, asked)
		}
		if f.Release(); asked != 0 {
			t.Errorf("of %d bytes: %d are not given back", most, asked)
		}
		checkFinder(t, f, re, "abxy")
	}
}

func checkFinder(t *testing.T, f *Finder, re *regexp.Regexp, text string) {
	t.Helper()
	if got, want := f.Find([]byte(text)), re.FindSubmatchIndex([]byte(text)); !slices.Equal(got, want) || (got == nil) != (want == nil) {
		t.Errorf("%q in %.100q: %v; want %v", re, text, got, want)
	}
}

func FuzzFinder(f *testing.F) {
	for i, p := range groupPatterns {
		f.Add(p, texts[i%len(texts)])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 100 {
			t.Skip()
		}
		checkFinder(t, NewFinder(re), re, text)
	})
}

func BenchmarkFind(b *testing.B) {
	line := []byte(`10.0.0.10 - bob [01/Mar/2026:10:59:59 +0000] "GET /api/orders/17 HTTP/1.1" 200 11116 "-" "Mozilla/5.0 (X11; Linux)" 0.738`)
	for _, p := range []string{`(?P<ip>\S+) .*"(?P<method>\w+) (?P<path>[^ ]+) HTTP/[0-9.]+" (?P<status>\d+)`, `HTTP/1.1" (?P<status>\d+)`, `(?P<ip>\d+\.\d+\.\d+\.\d+)`, `^(?P<ip>\S+) - (?P<user>\w+)`} {
		re := regexp.MustCompile(p)
		f := NewFinder(re)
		b.Run("by=finder/"+p, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Find(line)
			}
		})
		b.Run("by=regexp/"+p, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				re.FindSubmatchIndex(line)
			}
		})
	}
}
