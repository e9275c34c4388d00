package procstat

import (
	"os"
	"testing"
)

func TestParseStatm(t *testing.T) {
	if got, err := parseStatm([]byte("5212 1234 900 12 0 700 0\n")); err != nil || got != 1234 {
		t.Errorf("%d, %v; want 1234 pages", got, err)
	}
	for _, s := range []string{"", "12", "12 34", "12 x 5"} {
		if got, err := parseStatm([]byte(s)); err == nil {
			t.Errorf("%q gave %d", s, got)
		}
	}
}

func TestParseUnwritten(t *testing.T) {
	got, err := parseUnwritten([]byte("MemTotal:  8 kB\nDirty:         100 kB\nWriteback:        20 kB\nAnonPages:  7 kB\n"))
	if err != nil || got != 120<<10 {
		t.Errorf("%d, %v; want 120 KiB", got, err)
	}
	for _, s := range []string{"", "MemTotal: 8 kB\nDirty: 100 kB\n", "\nDirty: x kB\nWriteback: 1 kB\n", "\nDirty: 1 kB\nWriteback: 1"} {
		if got, err := parseUnwritten([]byte(s)); err == nil {
			t.Errorf("%q gave %d", s, got)
		}
	}
}

// The resident memory grows by what is touched.
func TestGauge(t *testing.T) {
	g, err := OpenGauge()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	before, err := g.RSS()
	if err != nil || before < 1<<20 {
		t.Fatalf("%d bytes, %v", before, err)
	}
	const size = 64 << 20
	touched := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		touched[i] = 1
	}
	after, err := g.RSS()
	if err != nil || after-before < size/2 {
		t.Errorf("%d bytes more after touching %d: %v", after-before, size, err)
	}
	if touched[0] != 1 {
		t.Error("unused")
	}
	if n, err := g.Unwritten(); err != nil || n < 0 {
		t.Errorf("%d, %v", n, err)
	}
	if n := testing.AllocsPerRun(10, func() { g.RSS(); g.Unwritten() }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

func BenchmarkGaugeRSS(b *testing.B) {
	g, err := OpenGauge()
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		g.RSS()
	}
}

func BenchmarkGaugeUnwritten(b *testing.B) {
	g, err := OpenGauge()
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		g.Unwritten()
	}
}
