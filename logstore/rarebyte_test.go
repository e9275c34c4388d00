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
		if rng.IntN(2) == 0 {
			copy(text[rng.IntN(len(text)+1):], s)
		}
		// Any bytes are correct; only the time depends on them.
		rare, second := rng.IntN(len(s)), 0
		for len(s) > 1 && (second == rare || rng.IntN(2) == 0) {
			second = rng.IntN(len(s))
		}
		if len(s) > 1 && second == rare {
			continue
		}
		if want := bytes.Index(text, s); indexRare(text, s, rare, second) != want || len(s) > 1 && indexPair(text, s, min(rare, second), max(rare, second)) != want {
			t.Fatalf("%q in %q, looked for at %d and %d: not %d", s, text, rare, second, want)
		}
	}
	for s, want := range map[string]int{"needle": 5, "timeout": 3, "a": 0, "  zz ": 2, "用户": 0} {
		got, second := rareBytes([]byte(s))
		if rarity[s[got]] < rarity[s[want]] || len(s) > 1 && got == second {
			t.Errorf("%q: %d and %d, not %d", s, got, second, want)
		}
	}
}

func BenchmarkIndexRare(b *testing.B) {
	var text []byte
	for i := 0; len(text) < 1<<20; i++ {
		text = fmt.Appendf(text, "2026-05-17T12:00:%02d.%06d info api request id=%x took %d ms from 10.0.%d.%d: GET /api/v1/users/%d 200\n", i%60, i*7919%1000000, uint64(i)*2654435761, i%977, i%200, i%251, i*31)
	}
	for _, s := range []string{"needle", "timeout after", "deadbeefcafe0123", "refused"} {
		b.Run("way=rare/s="+s, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			rare, second := rareBytes([]byte(s))
			for b.Loop() {
				indexRare(text, []byte(s), rare, second)
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
