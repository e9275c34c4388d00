package column

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// What has no kind of its own takes about the bytes that its random bits need.
func TestSizeOfPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name  string
		bytes float64 // a value, at most
		value func() string
	}{
		{"IPv6 addresses of a network", 8.1, func() string {
			a := [16]byte{0x20, 0x01, 0x0d, 0xb8}
			for i := 8; i < 16; i++ {
				a[i] = byte(rng.Uint32())
			}
			a[7] = 1
			return netip.AddrFrom16(a).String()
		}},
		{"local IPv6 addresses", 3.3, func() string {
			a := [16]byte{0: 0xfe, 1: 0x80, 8: 0x02, 9: 0x42, 10: 0xac, 11: 0xff, 12: 0xfe}
			for i := 13; i < 16; i++ {
				a[i] = byte(rng.Uint32())
			}
			return netip.AddrFrom16(a).String()
		}},
		{"durations", 4.3, func() string { return time.Duration(rng.ExpFloat64() * 1e7).String() }},
	} {
		var e Encoder
		const n = 4000
		for range n {
			e.Add([]byte(c.value()), 0)
		}
		packed, text := e.Append(nil, nil)
		var col Column
		if err := col.Open(packed, text, n, nil); err != nil {
			t.Fatal(err)
		}
		if col.Kind() != Pattern {
			t.Errorf("%s: %v, want %v", c.name, col.Kind(), Pattern)
		}
		if got := float64(len(packed)+len(text)) / n; got > c.bytes {
			t.Errorf("%s: %.2f bytes a value before compression, want at most %.2f", c.name, got, c.bytes)
		}
	}
}
