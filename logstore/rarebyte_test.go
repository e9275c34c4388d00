package logstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestIndexRare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		text, s := make([]byte, rng.IntN(200)), make([]byte, 1+rng.IntN(5))
		for _, b := range [][]byte{text, s} {
			for i := range b {
				b[i] = "ab z"[rng.IntN(2+rng.IntN(3))]
			}
		}
		// Any byte is correct; only the time depends on it.
		if at := rng.IntN(len(s)); indexRare(text, s, at) != bytes.Index(text, s) {
			t.Fatalf("%q in %q, looked for at %d: not %d", s, text, at, bytes.Index(text, s))
		}
	}
	for s, want := range map[string]int{"needle": 5, "timeout": 3, "a": 0, "  zz ": 2, "用户": 0} {
		if got := rareByte([]byte(s)); rarity[s[got]] < rarity[s[want]] {
			t.Errorf("%q: %d, not %d", s, got, want)
		}
	}
}

func BenchmarkIndexRare(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 1<<20; i++ {
		text = fmt.Appendf(text, "2026-05-17T12:00:%02d.%06d info api request id=%x took %d ms from 10.0.%d.%d: GET /api/v1/users/%d 200\n", i%60, i*7919%1000000, uint64(i)*2654435761, i%977, i%200, i%251, i*31)
	}
	for _, s := range []string{"needle", "timeout after", "deadbeefcafe0123"} {
		b.Run("way=rare/s="+s, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			at := rareByte([]byte(s))
			for b.Loop() {
				indexRare(text, []byte(s), at)
			}
		})
		b.Run("way=bytes/s="+s, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				bytes.Contains(text, []byte(s))
			}
		})
	}
}
