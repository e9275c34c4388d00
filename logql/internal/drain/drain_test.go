package drain

import (
	"fmt"
	"slices"
	"testing"
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
