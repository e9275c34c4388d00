package ipmatch

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

func TestMatchIn(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"10.0.0.1", "from 10.0.0.1 port 22", true},
		{"10.0.0.1", "from 10.0.0.1:8080", true},
		{"10.0.0.1", "from 10.0.0.1.", false},
		{"10.0.0.1", "from [10.0.0.1]: no", true},
		{"10.0.0.1", "from 10.0.0.12", false},
		{"10.0.0.1", "from 110.0.0.1", false},
		{"10.0.0.1", "", false},
		{"10.0.0.0/8", "a 11.1.1.1 b 10.200.3.4", true},
		{"10.0.0.0/8", "version 10.2.3", false},
		{"10.0.0.5-10.0.0.9", "x=10.0.0.7", true},
		{"10.0.0.5-10.0.0.9", "x=10.0.0.4,y=10.0.0.10", false},
		{"2001:db8::/32", "from 2001:db8::1 to", true},
		{"2001:db8::/32", "from [2001:db8::1]:80", true},
		{"2001:db8::1", "from 2001:0db8:0000::1,", true},
		{"::1", "listen ::1: done", true},
		{"::1", "listen ::2", false},
		{"::1", "face: bad", false},
	} {
		m, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.MatchIn([]byte(c.line)); got != c.want {
			t.Errorf("%q in %q: %v; want %v", c.pattern, c.line, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	m, err := Compile("192.168.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]bool{"192.168.4.5": {true, true}, "10.0.0.1": {false, true}, "abc": {}, "": {}, "192.168.4": {}, "::1": {false, true}} {
		if match, valid := m.Match([]byte(text)); match != want[0] || valid != want[1] {
			t.Errorf("%q: %v, %v; want %v", text, match, valid, want)
		}
	}
}

func TestMatchIsNetip(t *testing.T) {
	m, err := Compile("::/0")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var text []byte
		for range 1 + r.IntN(20) {
			text = append(text, []string{"1", "0", "255", "fe80", "a", ":", ":", "::", ".", ".", "%", "10000", "1.2.3.4", "x"}[r.IntN(14)]...)
		}
		_, err := netip.ParseAddr(string(text))
		if _, valid := m.Match(text); valid != (err == nil) && len(text) <= 64 {
			t.Fatalf("%q: %v; want %v", text, valid, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, p := range []string{"", "x", "10.0.0", "10.0.0.9-10.0.0.1", "10.0.0.1-::1", "10.0.0.0/33", "1-2-3"} {
		if _, err := Compile(p); err == nil {
			t.Errorf("Compile(%q): no error", p)
		}
	}
}

func FuzzMatchIn(f *testing.F) {
	m, err := Compile("10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("a 10.0.0.1 b ::1"))
	f.Fuzz(func(t *testing.T, line []byte) { m.MatchIn(line) })
}
