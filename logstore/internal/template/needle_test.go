package template_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore/internal/filter"
	. "github.com/stele-go/stele/logstore/internal/template"
)

// rows are lines of one template, by the variables of each, as plain bytes.
type rows struct {
	of     Template
	values [][][]byte // by line and slot
	bounds bool
}

func (r *rows) line(i int) []byte {
	var line []byte
	for j := range r.of.Slots() + 1 {
		line = append(line, r.of.Literal(j)...)
		if j < r.of.Slots() {
			line = append(line, r.values[i][j]...)
		}
	}
	return line
}

func (r *rows) Rows() int { return len(r.values) }

func (r *rows) May(c *Condition) bool {
	bits := make([]uint64, (len(r.values)+63)/64)
	r.Match(bits, c)
	return slices.ContainsFunc(bits, func(w uint64) bool { return w != 0 })
}

func (r *rows) Match(dst []uint64, c *Condition) {
	for i, values := range r.values {
		if holds(values[c.Slot], c) {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

func (r *rows) Bounds(slot int) Bounds {
	b := Bounds{Min: 1 << 30}
	if !r.bounds {
		return Bounds{Max: 1 << 30, Bytes: ByteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}}
	}
	for _, values := range r.values {
		b.Min, b.Max = min(b.Min, len(values[slot])), max(b.Max, len(values[slot]))
		for _, c := range values[slot] {
			b.Bytes.Add(c)
		}
	}
	return b
}

func (r *rows) Walk(w *Walk, slot int) {
	switch b := r.Bounds(slot); {
	case !r.bounds:
		w.Place(b.Bytes, true)
	case len(r.values) == 1:
		w.Text(r.values[0][slot])
	case b.Min == b.Max && b.Bytes[2]|b.Bytes[3] == 0:
		for range b.Min {
			w.Place(b.Bytes, false)
		}
	default:
		w.Place(b.Bytes, true)
	}
}

func holds(v []byte, c *Condition) bool {
	text := c.Text
	if c.Op == HasMatch {
		return c.Automaton.Match(v)
	}
	if c.Fold {
		if c.Op == HasText {
			return filter.ContainsFold(v, text)
		}
		v, text = folded(v), folded(text)
	}
	switch c.Op {
	case HasText:
		return bytes.Contains(v, text)
	case HasPrefix:
		return bytes.HasPrefix(v, text)
	case HasSuffix:
		return bytes.HasSuffix(v, text)
	}
	return bytes.Equal(v, text)
}

// folded returns a text with the least rune of each case.
func folded(s []byte) (out []byte) {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if r == utf8.RuneError && size == 1 {
			out = append(out, s[0])
		} else {
			least := r
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				least = min(least, f)
			}
			out = utf8.AppendRune(out, least)
		}
		s = s[size:]
	}
	return out
}

func has(line []byte, n *Needle) bool {
	switch n.Kind() {
	case Folded:
		return filter.ContainsFold(line, n.Text())
	case Word:
		return filter.HasWord(line, n.Text(), false)
	}
	return bytes.Contains(line, n.Text())
}

var someLines = []string{
	"2026-01-02T03:04:05.678Z INFO worker-12 took 15ms for GET /api/v1/items?id=4711 status=200",
	`{"level":"warn","msg":"slow query","took":1.25,"user":{"id":4711,"name":"Ann"}}`,
	"level=error ts=1700000000 caller=main.go:12 err=\"connection to 10.0.0.1:8080 refused\"",
	"sshd[24200]: Failed password for invalid user root from 173.234.31.186 port 38926 ssh2",
	"Größe der Datei: 12 KB, Straße Nr. 5; ΑΣΣΟΣ ασσος",
	"aaaaaaaaaaaaaaaa", "a b a b a b  a b a", "", " ", "\x00\xff\xfe\x80 binary \xe2\x84", "\u212aelvin \u017fet kKsS \u212a",
	"0x7f 0xFF 00012 -5 +5", "日本語のログ 12 件",
}

// cutRows returns lines of a random template of a line, of which the first is the line.
func cutRows(r *rand.Rand, line []byte, count, slots int) *rows {
	cuts := make([]int, 2*slots)
	for i := range cuts {
		cuts[i] = r.IntN(len(line) + 1)
	}
	return rowsAt(r, line, cuts, count)
}

// rowsAt is cutRows with the ends of slots.
func rowsAt(r *rand.Rand, line []byte, cuts []int, count int) *rows {
	slices.Sort(cuts)
	var literals, first [][]byte
	at := 0
	for i := 0; i < len(cuts); i += 2 {
		literals = append(literals, line[at:cuts[i]])
		first = append(first, line[cuts[i]:cuts[i+1]])
		at = cuts[i+1]
	}
	set := &rows{of: New(append(literals, line[at:])...), values: [][][]byte{first}, bounds: r.IntN(2) == 0}
	for len(set.values) < count {
		var values [][]byte
		for _, v := range first {
			other := someLines[r.IntN(len(someLines))]
			from := r.IntN(len(other) + 1)
			to := min(len(other), from+r.IntN(6))
			switch r.IntN(4) {
			case 0:
				v = []byte(other[from:to])
			case 1:
				v = append(bytes.Clone(v), other[from:to]...)
			case 2:
				v = v[:r.IntN(len(v)+1)]
			}
			values = append(values, v)
		}
		set.values = append(set.values, values)
	}
	return set
}

// A known is a test, and the oracle for it.
type known struct {
	of   *Expr
	test func(line []byte) bool
	name string
}

func needleTest(n *Needle) known {
	return known{Has(n), func(line []byte) bool { return has(line, n) }, fmt.Sprintf("%d:%q", n.Kind(), n.Text())}
}

// check compares what is known of a test with the lines.
func check(t *testing.T, set *rows, k known, exact bool) {
	t.Helper()
	var d Dictionary
	d.Add(New([]byte("other")))
	d.Add(Plain)
	id, ok := d.Add(set.of)
	if !ok {
		t.Fatalf("%q is too large", set.of)
	}
	p := NewPlan(NewQuery(k.of), &d)
	var s Scanner
	m := s.Scan(p, id, set)
	v := p.Verdict(id)
	any := false
	for i := range set.values {
		line := set.line(i)
		want, bit := k.test(line), uint64(1)<<(i%64)
		may, sure := m.May[i/64]&bit != 0, m.Sure[i/64]&bit != 0
		if want && !may || sure && !want || exact && may != want || exact && sure != want {
			t.Fatalf("%q, of %q with %q: %s is %v; want may %v, sure %v", line, set.of, set.values[i], k.name, want, may, sure)
		}
		if v == Never && want || v == Always && !want {
			t.Fatalf("%q, of %q: %s is %v; want verdict %v", line, set.of, k.name, want, v)
		}
		any = any || want
	}
	var b filter.VariableBuilder
	for i, values := range set.values {
		at := 0
		b.SetLines(append(set.line(i), '\n'))
		for j, v := range values {
			at += len(set.of.Literal(j))
			b.AddVariable(uint32(at), uint32(at+len(v)))
			at += len(v)
		}
	}
	block := b.Append(nil)
	judge := NewBlockJudge(func(needles ...filter.Needle) (bool, error) {
		return !slices.ContainsFunc(needles, func(n filter.Needle) bool { return !filter.May(block, n) }), nil
	})
	judge.Begin(p)
	may, err := judge.Verdict(id) != Never, judge.Err()
	if any && !may || err != nil {
		t.Fatalf("%q: %s is there; want no block: %v", set.of, k.name, err)
	}
}

// TestNeedleEverywhere looks for every text of lines, cut in many ways.
func TestNeedleEverywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, line := range someLines {
		for slots := range 4 {
			set := cutRows(r, []byte(line), 5, slots)
			whole := set.line(r.IntN(len(set.values)))
			for from := range whole {
				for to := from + 1; to <= min(len(whole), from+20); to += 1 + r.IntN(8) {
					kind := NeedleKind(r.IntN(3))
					n := NewNeedle(whole[from:to], kind)
					check(t, set, needleTest(n), kind == Bytes && !n.In(set.of, nil).Every)
				}
			}
		}
	}
}

// exprs are regular expressions of many kinds.
var exprs = func() (list []*regexp.Regexp) {
	for _, e := range []string{
		`\d+\.\d+`, `\d+\.\d+\.\d+\.\d+`, `^\d`, `\d$`, `\bk`, `[^ -~]`, `(?i)k+S`, `.{10,}`, `[a-f]{2}\d`, `12|took`, `"\w+":`, `^$`, `a.*b`,
		"\ufffd", `(ab)+?`, `x?`, `[0-4]+:`, `ß|Σ`, `(?i)ς`, `\s\S+=`,
	} {
		list = append(list, regexp.MustCompile(e))
	}
	return append(list, regexp.MustCompilePOSIX("(a|b)+c?"))
}()

func randomTest(r *rand.Rand, set *rows, depth int) known {
	var kids []known
	var of []*Expr
	var name []string
	if depth > 0 {
		for range r.IntN(4) {
			k := randomTest(r, set, depth-1)
			kids, of, name = append(kids, k), append(of, k.of), append(name, k.name)
		}
	}
	switch kind := r.IntN(5); {
	case kind == 0 && depth > 0:
		return known{All(of...), func(line []byte) bool {
			return !slices.ContainsFunc(kids, func(k known) bool { return !k.test(line) })
		}, "all(" + strings.Join(name, ",") + ")"}
	case kind == 1 && depth > 0:
		return known{Any(of...), func(line []byte) bool {
			return slices.ContainsFunc(kids, func(k known) bool { return k.test(line) })
		}, "any(" + strings.Join(name, ",") + ")"}
	case kind == 2 && len(kids) > 0:
		return known{Not(of[0]), func(line []byte) bool { return !kids[0].test(line) }, "not(" + name[0] + ")"}
	case kind == 3 && len(kids) > 0:
		test := func(line []byte) bool { return kids[0].test(line) && len(line)%2 == 0 }
		if r.IntN(2) == 0 {
			return known{Opaque(of[0], test), test, "opaque(" + name[0] + ")"}
		}
		return known{Opaque(nil, nil), test, "unknown"}
	}
	if r.IntN(4) == 0 {
		re := exprs[r.IntN(len(exprs))]
		return known{Regexp(nil, re), re.Match, re.String()}
	}
	line := set.line(r.IntN(len(set.values)))
	from := r.IntN(len(line) + 1)
	to := from + r.IntN(min(len(line)-from, 12)+1)
	text := line[from:to]
	if r.IntN(3) == 0 && len(text) > 0 {
		text = bytes.Clone(text)
		text[r.IntN(len(text))] ^= 1 << r.IntN(8)
	}
	return needleTest(NewNeedle(text, NeedleKind(r.IntN(3))))
}

// TestQueryRandomly asks about random tests of random lines.
func TestQueryRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		set := cutRows(r, []byte(someLines[r.IntN(len(someLines))]), 1+r.IntN(80), r.IntN(6))
		check(t, set, randomTest(r, set, r.IntN(4)), false)
	}
}

// TestNeedleBounds has needles and templates with more places than are listed.
func TestNeedleBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, piece := range []string{"a", "ab ", " ", "\x00", "k\u212a"} {
		literals := make([][]byte, MaxSlots+1)
		for i := range literals {
			literals[i] = []byte(piece)
		}
		for _, l := range [][][]byte{literals, make([][]byte, MaxSlots+1), {bytes.Repeat(literals[0], 3000), nil, literals[0]}} {
			set := &rows{of: New(l...), bounds: true}
			for range 3 {
				var values [][]byte
				for range set.of.Slots() {
					values = append(values, []byte(piece[:r.IntN(len(piece)+1)]))
				}
				set.values = append(set.values, values)
			}
			for _, size := range []int{1, 7, 60, 600, 5000} {
				for kind := range Word + 1 {
					if kind == Folded && size > 60 {
						continue
					}
					text := []byte(strings.Repeat(piece, size))
					check(t, set, needleTest(NewNeedle(text, kind)), false)
					check(t, set, needleTest(NewNeedle(append(text[:len(text):len(text)], 'x'), kind)), false)
				}
			}
		}
	}
}

func TestNeedleAnswer(t *testing.T) {
	of := func(literals ...string) Template {
		var list [][]byte
		for _, l := range literals {
			list = append(list, []byte(l))
		}
		return New(list...)
	}
	for _, c := range []struct {
		needle string
		kind   NeedleKind
		of     Template
		want   string
	}{
		{"took", Bytes, of("it took ", " ms"), "always"},
		{"tooth", Bytes, of("it took"), "never"},
		{"TOOK", Folded, of("it took ", " ms"), "always"},
		{"took", Word, of("it took ", " ms"), "always"},
		{"too", Word, of("it took ", " ms"), "maybe"},
		{"took", Word, of("it took", " ms"), "maybe every"},
		{"error", Bytes, of("it took ", " ms"), "maybe"},
		{"took 15", Bytes, of("it took ", " ms"), `maybe 0 prefix "15"`},
		{"took 15 ms", Bytes, of("it took ", " ms"), `maybe 0 prefix "15 ms" or 0 equal "15" or 0 suffix "took 15"`},
		{"5 m", Bytes, of("it took ", " ms"), `maybe 0 suffix "5"`},
		{"1.2", Bytes, of("", ".", "."), `maybe 0 suffix "1" 1 prefix "2"`},
		{"a b", Bytes, of("x ", " ", " ", ""), `maybe 0 suffix "a" 1 prefix "b" or 1 suffix "a" 2 prefix "b"`},
		{"12", Bytes, of("", "", ""), `maybe 0 suffix "1" 1 prefix "2"`},
	} {
		a := NewNeedle([]byte(c.needle), c.kind).In(c.of, nil)
		got := []string{"never", "maybe", "always"}[a.Verdict]
		if a.Every {
			got += " every"
		}
		for i, list := range a.Across {
			if i > 0 {
				got += " or"
			}
			for _, one := range list {
				got += fmt.Sprintf(" %d %s %q", one.Slot, []string{"has", "prefix", "suffix", "equal"}[one.Op], one.Text)
			}
		}
		if got != c.want {
			t.Errorf("%q in %q: %s; want %s", c.needle, c.of, got, c.want)
		}
	}
}

func FuzzNeedle(f *testing.F) {
	for i, line := range someLines {
		f.Add([]byte(line), []byte{3, 5, 9, 20, 20, 30}, []byte(line[len(line)/4:len(line)/2]), uint8(i))
	}
	f.Add([]byte("aaaa"), []byte{1, 2, 2, 3}, []byte("aaa"), uint8(0))
	f.Add(bytes.Repeat([]byte("0"), 33), []byte{3, 20, 20, 21}, []byte("000000000010"), uint8(0))
	f.Fuzz(func(t *testing.T, line, cuts, needle []byte, kind uint8) {
		if len(line) > 1<<12 || len(cuts) > 2*MaxSlots {
			return
		}
		var at []int
		for _, c := range cuts[:len(cuts)&^1] {
			at = append(at, int(c)%(len(line)+1))
		}
		r := rand.New(rand.NewPCG(7, uint64(len(line))))
		set := rowsAt(r, line, at, 4)
		k := NeedleKind(kind % 3)
		n := NewNeedle(needle, k)
		check(t, set, needleTest(n), k == Bytes && !n.In(set.of, nil).Every)
	})
}
