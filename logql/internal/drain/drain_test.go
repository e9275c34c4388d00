package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/internal/pattern"
)

func TestMiner(t *testing.T) {
	m := New(Options{})
	for i := range 50 {
		m.Add(fmt.Sprintf("Accepted password for user%d from 10.0.0.%d port %d ssh2", i, i, 1000+i))
		m.Add("Connection closed by " + []string{"alice", "bob", "carol"}[i%3] + " at once")
		m.Add(fmt.Sprintf(`level=info msg="took %dms" path=/api/v%d/orders`, i, i%3))
		m.Add("   ")
	}
	want := []string{
		"Accepted password for <_> from <_> port <_>",
		"Connection closed by <_> at once",
		`level=info msg="took <_>" path=/api/<_>/orders`,
	}
	var got []string
	for _, p := range m.Patterns() {
		got = append(got, p.String())
		if p.Lines != 50 {
			t.Errorf("%s: %d lines, want 50", p, p.Lines)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("patterns %q, want %q", got, want)
	}
}

func TestMinerBounds(t *testing.T) {
	m := New(Options{Patterns: 3, Words: 4})
	for _, line := range []string{"a b", "c d e", "f g h i j k l", "m", "a b"} {
		m.Add(line)
	}
	if n := len(m.Patterns()); n != 3 {
		t.Errorf("%d patterns, want 3", n)
	}
	if p := m.Add("f g h i j k l n o"); p == nil || p.String() != "f g h i <_>" {
		t.Errorf("a cut line has pattern %v", p)
	}
	if p := m.Add("other"); p != nil {
		t.Errorf("a pattern too many: %v", p)
	}
}

// A pattern matches the lines that it has, with all their blanks.
func TestPatternsMatchTheirLines(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines,
			fmt.Sprintf("took %5d ms  by worker %d", i*i, i),
			fmt.Sprintf("\tat java.util.List.get(List.java:%d)  ", i),
			fmt.Sprintf("%*suser %s in%*sout", i%3, "", []string{"alice", "bob"}[i%2], 1+i%4, ""),
			fmt.Sprintf("10.0.0.%d, %d %d [x] %d:%d", i, i, i, i, i),
			fmt.Sprintf("%d %d alpha %[1]d %[1]d", i, i),
			fmt.Sprintf("%s is\t%s  done", []string{"one", "two"}[i%2], []string{"now", "soon"}[i/2%2]),
			strings.Repeat(fmt.Sprintf("word%d  ", i%7), 100),
			fmt.Sprintf("usage: tool <name> <_> [<file%d>] </b><br><b_c>x=<a>, <not a name> < <> <a-b> <a.b>", i),
			[]string{"<a>", "<_>", "<a><b>", "<<a>>", "x<a>y<_>z", "<a", "a>", "<_", "_>"}[i%9],
		)
	}
	m := New(Options{})
	of := make([]*Pattern, len(lines))
	for i, line := range lines {
		of[i] = m.Add(line)
	}
	for i, line := range lines {
		p, err := pattern.CompileFilter(of[i].String())
		if err != nil {
			t.Fatalf("%q: %v", of[i], err)
		}
		if !p.Match([]byte(line)) {
			t.Errorf("%q does not match %q", of[i], line)
		}
	}
	if got := m.Add("took     1 ms  by worker 3").String(); got != "took<_> ms  by worker <_>" {
		t.Errorf("%q", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("kind%d of a line with some %d words and 10.0.0.%d as an address", i%20, i, i%256)
	}
	m := New(Options{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.Add(lines[i%len(lines)])
		i++
	}
}
