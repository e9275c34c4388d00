package column

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// checkDraw compares what Draw makes of all values, from several of them on, with v.
func checkDraw(t *testing.T, c *Column, v []string) {
	t.Helper()
	for i, rounds := 0, 0; i < len(v); rounds++ {
		text, spans := c.Draw(i)
		if len(spans) == 0 || len(spans) > len(v)-i {
			t.Fatalf("%v: %d texts from %d of %d on", c.Kind(), len(spans), i, len(v))
		}
		for k, s := range spans {
			if got := string(text[s.From:s.To]); got != v[i+k] {
				t.Fatalf("%v: value %d is drawn as %q from %d on; want %q", c.Kind(), i+k, got, i, v[i+k])
			}
		}
		if rounds%3 == 1 {
			i += max(1, len(spans)/2)
		} else {
			i += len(spans)
		}
	}
}

// Texts that together are long are drawn a few at a time.
func TestDrawLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	long := strings.Repeat("x", 2000)
	words := texts(20_000, func(int) string { return fmt.Sprintf("%08x-%d", rng.Uint32(), rng.IntN(10)) })
	for name, v := range map[string][]string{
		"parts": texts(200, func(int) string {
			return fmt.Sprint("a/", rng.IntN(1000), "/", long[:rng.IntN(300)], "z/", rng.IntN(100))
		}),
		"misses":     texts(1000, func(i int) string { return []string{fmt.Sprint(rng.IntN(1000)), long}[max(i%50, 48)-48] }),
		"dictionary": texts(60_000, func(int) string { return words[rng.IntN(len(words))] }),
	} {
		var c Column
		check(t, new(Encoder), &c, v)
		if c.count > 0 {
			t.Log(name, c.kind)
		}
	}
}

// Columns of one Memory do not disturb each other, and what they take is no more than the
// largest block needs.
func TestMemory(t *testing.T) {
	var m Memory
	var columns []*Column
	all := samples()
	most := int64(0)
	for round := range 4 {
		m.Reset()
		var of [][]string
		for name, v := range all {
			if strings.Contains(name, "time ") {
				continue
			}
			packed, text := encode(new(Encoder), v, rowTimes(len(v)))
			if len(of) == len(columns) {
				columns = append(columns, New(&m))
			}
			if err := columns[len(of)].Open(packed, text, len(v), rowTimes(len(v))); err != nil {
				t.Fatal(err)
			}
			of = append(of, v)
		}
		for i, v := range of {
			checkDraw(t, columns[i], v)
		}
		for i, v := range of {
			for k, s := range v {
				if got := string(columns[i].AppendValue(nil, k)); got != s {
					t.Fatalf("value %d is %q; want %q", k, got, s)
				}
			}
		}
		if round == 1 {
			m.Reset()
			most = m.Weight()
		} else if w := m.Weight(); round > 1 && w > most*5/4 {
			t.Errorf("it takes %d bytes for the block that %d were enough for", w, most)
		}
	}
}
