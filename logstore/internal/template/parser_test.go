package template

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// parseLines parses lines as one block.
func parseLines(t testing.TB, m *Miner, p *Parser, lines []string) {
	t.Helper()
	var text []byte
	p.Reset(m)
	var at []int
	for _, l := range lines {
		from := len(text)
		text = append(append(text, l...), '\n')
		p.Add(text, from, from+len(l))
		at = append(at, from)
	}
	p.Finish(text)
	for i, l := range lines {
		n, variables := p.Row(i)
		of := p.Table()[n].Template()
		if len(variables) != of.Slots() || len(variables) != len(p.Table()[n].Contexts()) {
			t.Fatalf("%q: %d variables and %d contexts for %d slots", l, len(variables), len(p.Table()[n].Contexts()), of.Slots())
		}
		again := bytes.Clone(of.Literal(0))
		for j, v := range variables {
			if int(v.From) < at[i] || v.To < v.From || int(v.To) > at[i]+len(l) {
				t.Fatalf("%q: variable %d is from %d to %d of the text", l, j, v.From, v.To)
			}
			again = append(append(again, text[v.From:v.To]...), of.Literal(j+1)...)
		}
		if string(again) != l {
			t.Fatalf("%q: its template and variables make %q", l, again)
		}
		if of.Key() != Plain.Key() {
			checkEdges(t, l, variables, at[i])
		}
	}
}

// checkEdges verifies that no variable begins or ends within a word.
func checkEdges(t testing.TB, line string, variables []Span, at int) {
	t.Helper()
	inWord := func(i int) bool {
		return i > 0 && i < len(line) && classes[line[i-1]] != isDelimiter && classes[line[i]] != isDelimiter
	}
	for _, v := range variables {
		if inWord(int(v.From)-at) || inWord(int(v.To)-at) {
			t.Fatalf("%q: a variable is %q", line, line[int(v.From)-at:int(v.To)-at])
		}
	}
}

// templatesOf returns the templates of lines, the last of which are parsed alone.
func templatesOf(t testing.TB, lines ...string) (all []string) {
	t.Helper()
	m := NewMiner()
	var p Parser
	parseLines(t, m, &p, lines)
	for i := range lines {
		n, _ := p.Row(i)
		all = append(all, p.Table()[n].Template().String())
	}
	return all
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"GET /items/17 took 3.25 ms", "GET /items/<*> took <*> ms"},
		{"blk_-1608 and blk_77", "blk_<*> and blk_<*>"},
		{"a-1 b - -1", "a-<*> b - <*>"},
		{"from 10.1.2.3:50010 to ::1", "from <*>:<*> to ::<*>"},
		{"id 0x1f worker12 9f4ef63", "id <*> <*> <*>"},
		{"req-38101a0b-2096-447d-96ea-a692162415ae ok", "req-<*> ok"},
		{"38101a0b-2096-447d-96ea-a692162415aeX", "<*>"},
		{"2026-11-29 12:00:01,123 INFO", "<*> INFO"},
		{"2026-11-29T12:00:01.5Z INFO", "<*> INFO"},
		{"2026-11-29T12:00:01+02:00 INFO", "<*>+<*>:<*> INFO"},
		{"Dec 10 06:55:46 host sshd[24200]: x", "<*> host sshd[<*>]: x"},
		{"Dec  1 06:55:46 host", "<*> host"},
		{"[Sun Dec 04 04:47:44 2005] [notice]", "[<*>] [notice]"},
		{"[Sun Dec 0404:47:44 2005]", "[Sun Dec <*>:<*>:<*> <*>]"},
		{"081109 203615 148 INFO", "<*> <*> INFO"},
		{"17/06/09 20:10:40 INFO", "<*> INFO"},
		{"03-17 16:13:38.811  1702 D", "<*>  <*> D"},
		{`"GET" [10/Oct/2000:13:55:36 -0700]`, `"GET" [<*> <*>]`},
		{`{"ts":"2026-11-29T12:00:01.123Z","status":200,"ok":true}`, `{"ts":"<*>","status":<*>,"ok":true}`},
		{"größe 5 größe\xff6", "größe <*> <*>"},
		{"", ""},
		{"no variables", "no variables"},
		{"12.", "<*>."},
		{"1.2.3. 4..5", "<*>. <*>..<*>"},
	} {
		if got := templatesOf(t, c.line, c.line, c.line, c.line); got[0] != c.want || got[3] != c.want {
			t.Errorf("%q: template %q; want %q", c.line, got, c.want)
		}
	}
}

func TestWordsBecomeSlots(t *testing.T) {
	got := templatesOf(t, "user ann left", "user bob left", "user cem left", "user dee left", "user ann came")
	want := []string{"user <*> left", "user <*> left", "user <*> left", "user <*> left", "<*>"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("templates %q; want %q", got, want)
	}
	// Two places differ, and three words are too few.
	var lines []string
	for _, a := range strings.Fields("ann bob cem dee eve") {
		for _, b := range strings.Fields("red sea bay key pie") {
			lines = append(lines, "user "+a+" took "+b)
		}
	}
	if got := templatesOf(t, lines...); got[0] != "user <*> took <*>" {
		t.Errorf("template %q", got[0])
	}
	if got := templatesOf(t, "user ann left", "user bob left", "user cem left"); got[0] != Plain.String() {
		t.Errorf("template %q of three different words", got[0])
	}
}

// TestMinerRemembers finds templates of other blocks, and those that come again.
func TestMinerRemembers(t *testing.T) {
	m := NewMiner()
	var p Parser
	parseLines(t, m, &p, []string{"one 1", "two 2", "two 2", "one 2", "one 3", "two 5"})
	if n, _ := p.Row(0); p.Table()[n].Template().String() != "<*>" {
		t.Errorf("a line that came three times has template %q", p.Table()[n].Template())
	}
	parseLines(t, m, &p, []string{"one 3", "two 4", "three 5"})
	for i, want := range []string{"one <*>", "two <*>", "<*>"} {
		if n, _ := p.Row(i); p.Table()[n].Template().String() != want {
			t.Errorf("line %d has template %q; want %q", i, p.Table()[n].Template(), want)
		}
	}
}

// TestChunks finds templates of lines whose names are made of a different number of words.
func TestChunks(t *testing.T) {
	got := templatesOf(t,
		"2026-11-29 12:00:01 status unpacked libfoo:amd64 1.2-3+deb12u1",
		"2026-11-29 12:00:01 status unpacked lib-x-bar:amd64 5",
		"2026-11-29 12:00:02 status unpacked a:amd64 1.2.3~rc1-4",
		"2026-11-29 12:00:02 status unpacked golang-go:amd64 2:1.22-1",
		"2026-11-29 12:00:02 status unpacked bash:all 2:1.22-1",
	)
	for i, want := range []string{"<*> status unpacked <*> <*>", "<*> status unpacked <*> <*>", "<*> status unpacked <*> <*>", "<*> status unpacked <*> <*>", "<*>"} {
		if got[i] != want {
			t.Errorf("line %d has template %q; want %q", i, got[i], want)
		}
	}
}

// randomLine is made of pieces that meet in all ways.
func randomLine(r *rand.Rand) string {
	pieces := []string{"a", "user", "12", "-5", "1.5", " ", " ", ":", "-", ".", "/", "10.0.0.1", "Dec 10 06:55:46", "2026-11-29 12:00:01.123", "2026-11-29T", "00:00:00", "é", "\xff", "\x00", "\n",
		"38101a0b-2096-447d-96ea-a692162415ae", "0x", "\"k\":", "{", "081109 203615", "17/06/09 20:10:40", "Sun ", "Z", "03-17 16:13:38.811", "10/Oct/2000:13:55:36", "dddddddd-"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestRandomLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := NewMiner()
	var p Parser
	for range 50 {
		var lines []string
		for range 100 {
			lines = append(lines, randomLine(r))
		}
		parseLines(t, m, &p, append(lines, lines[:50]...))
	}
}

// TestHostileLines parses lines that are long, have very many tokens, or are each new.
func TestHostileLines(t *testing.T) {
	m := NewMiner()
	var p Parser
	r := rand.New(rand.NewPCG(3, 4))
	lines := []string{strings.Repeat("1 ", 1000), strings.Repeat("a ", 3000), strings.Repeat("x", maxLine), strings.Repeat("x", maxLine+1), strings.Repeat(" ", 100), strings.Repeat("a1 ", MaxSlots), strings.Repeat("a1 ", MaxSlots+1)}
	parseLines(t, m, &p, append(lines, lines...))
	for range 4 {
		lines = lines[:0]
		for i := range 2000 {
			lines = append(lines, fmt.Sprintf("%s %d %s %s", randomWord(r), i, randomWord(r), strings.Repeat(".", r.IntN(40))))
		}
		parseLines(t, m, &p, append(lines, lines...))
	}
	if n := m.patterns.Load().count; n > maxPatterns || m.bytes > maxPatternBytes {
		t.Errorf("%d patterns of %d bytes; want at most %d of %d", n, m.bytes, maxPatterns, maxPatternBytes)
	}
}

// TestTableIsBounded parses a block with more templates than a dictionary has.
func TestTableIsBounded(t *testing.T) {
	m := NewMiner()
	var p Parser
	var lines []string
	for i := range 300 {
		l := strings.Repeat(".", i) + strings.Repeat("abcdefg ", 450) + "1"
		lines = append(lines, l, l, l, l)
	}
	parseLines(t, m, &p, lines)
	var d Dictionary
	for _, of := range p.Table() {
		if _, ok := d.Add(of.Template()); !ok {
			t.Fatalf("template %d of %d does not fit", d.Len(), len(p.Table()))
		}
	}
	if n, _ := p.Row(len(lines) - 1); p.Table()[n] != plain || len(p.Table()) < 100 {
		t.Errorf("%d templates; the last line has %.20q", len(p.Table()), p.Table()[n].Template())
	}
}

func randomWord(r *rand.Rand) string {
	w := make([]byte, 3+r.IntN(8))
	for i := range w {
		w[i] = 'a' + byte(r.IntN(26))
	}
	return string(w)
}

// TestParsersShareMiner runs parsers beside each other.
// The memory for lines without a template goes once few lines are.
func TestParserShrinks(t *testing.T) {
	var p Parser
	m := NewMiner()
	var lines []string
	for i := range 2 * fewPending {
		lines = append(lines, fmt.Sprint("took ", i, " ms for ", i%7, " rows"))
	}
	parseLines(t, m, &p, lines)
	before := p.Weight()
	for range seldomMost {
		parseLines(t, m, &p, lines)
		if len(p.Table()) != 1 {
			t.Fatalf("%d templates", len(p.Table()))
		}
	}
	if after := p.Weight(); after > before/2 {
		t.Errorf("%d bytes, and %d with pending lines", after, before)
	}
}

func TestParsersShareMiner(t *testing.T) {
	m := NewMiner()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(i)))
			var p Parser
			for range 20 {
				var lines []string
				for range 50 {
					lines = append(lines, fmt.Sprintf("worker %s did %d of %s", randomWord(r), r.IntN(100), []string{"a", "b", "c"}[r.IntN(3)]))
				}
				parseLines(t, m, &p, lines)
			}
		})
	}
	all.Wait()
}

func TestParserAllocs(t *testing.T) {
	m := NewMiner()
	var p Parser
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("worker %d did %d of %d", i, i*i, i*12345))
	}
	text := []byte(strings.Join(lines, "\n") + "\n")
	parse := func() {
		p.Reset(m)
		at := 0
		for _, l := range lines {
			p.Add(text, at, at+len(l))
			at += len(l) + 1
		}
		p.Finish(text)
	}
	parse()
	if n := testing.AllocsPerRun(10, parse); n > 0 {
		t.Errorf("%v allocations a block; want 0", n)
	}
}

func FuzzParser(f *testing.F) {
	f.Add("user 12 took 1.5s\nuser 13 took 2s\nDec 10 06:55:46 x")
	f.Add("a\x00b\xff 1\n\n-1--2")
	f.Fuzz(func(t *testing.T, text string) {
		var p Parser
		lines := strings.Split(text, "\n")
		m := NewMiner()
		parseLines(t, m, &p, append(lines, lines...))
		parseLines(t, m, &p, lines)
	})
}
