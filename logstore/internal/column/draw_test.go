package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
	for name, test := range map[string]struct {
		v      []string
		kind   Kind
		misses bool
	}{
		"parts": {texts(200, func(int) string {
			return fmt.Sprint("a/", rng.IntN(1000), "/", long[:rng.IntN(300)], "z/", rng.IntN(100))
		}), Pattern, true},
		"misses":     {texts(1000, func(i int) string { return []string{fmt.Sprint(rng.IntN(1000)), long}[max(i%50, 48)-48] }), Integer, true},
		"dictionary": {texts(60_000, func(int) string { return words[rng.IntN(len(words))] }), Dictionary, false},
	} {
		var c Column
		check(t, new(Encoder), &c, test.v)
		if c.kind != test.kind || (c.misses != nil) != test.misses {
			t.Errorf("%s are of the kind %v, with misses: %v; want %v, %v", name, c.kind, c.misses != nil, test.kind, test.misses)
		}
	}
}

// Columns of one Memory do not disturb each other, and what they take is no more than the
// largest block needs.
func TestMemory(t *testing.T) {
	var m Memory
	var columns []*Column
	all := samples()
	names := slices.Sorted(maps.Keys(all)) // so that each round has the same samples in the same columns
	most := int64(0)
	for round := range 4 {
		m.Reset()
		var of [][]string
		for _, name := range names {
			v := all[name]
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

// However much text columns could draw, it takes bounded memory, and is the same.
func TestDrawnMemory(t *testing.T) {
	var m Memory
	const count = 1024
	// Dictionaries whose entries are all the same text, and patterns with long literals.
	text := strings.Repeat("x", 1000)
	size := binary.AppendUvarint(nil, uint64(len(text)))
	dictionary := append(append([]byte{byte(Dictionary), 0x80, 0x08, byte(Constant)}, size...), formConstant, 0)
	pattern := append(append([]byte{byte(Pattern), 1}, size...), 0, byte(Integer), formConstant, 2)
	within := slices.Concat([]byte{byte(Pattern), 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat(pattern, 8))
	for _, one := range []struct {
		packed []byte
		texts  int
		want   string
	}{{dictionary, 1, text}, {pattern, 1, text + "1"}, {within, 8, strings.Repeat(text+"1", 8)}} {
		m.Reset()
		most, all := 0, strings.Repeat(text, one.texts)
		for range 100 {
			c := New(&m)
			if err := c.Open(one.packed, []byte(all), count, nil); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < 200; {
				p, spans := c.Draw(i)
				if got := string(p[spans[0].From:spans[0].To]); got != one.want {
					t.Fatalf("%q; want %q", got, one.want)
				}
				i += len(spans)
			}
			if got := string(c.AppendValue(nil, count-1)); got != one.want {
				t.Fatalf("%q; want %q", got, one.want)
			}
			most += 3*(len(one.want)+len(all)) + 20*count*one.texts
		}
		if n := int(m.Weight()) - maxAllDrawn; n > most+2*maxDrawn {
			t.Errorf("%v: %d bytes are taken above %d", Kind(one.packed[0]), n, maxAllDrawn)
		}
		if m.Reset(); m.Weight() > 5*maxArena {
			t.Errorf("%v: %d bytes are kept", Kind(one.packed[0]), m.Weight())
		}
	}
}

// Few integers are searched with little memory, and many with the states of four digits.
func TestFinderMemory(t *testing.T) {
	var m Memory
	for _, n := range []int{fewMet, 1} {
		f := m.finder([]byte("4711"), n)
		if w := m.Weight(); n == fewMet && w > 2<<10 || n == 1 && w < 4e4 {
			t.Errorf("after %d integers %d bytes are kept", f.met, w)
		}
		for u, want := range map[uint64]bool{4711: true, 1_347_110: true, 47_011: false, 471: false, 12_344_711_234: true} {
			if got := f.in(u, 1); got != want {
				t.Errorf("after %d integers: 4711 is in %d: %v", f.met, u, got)
			}
		}
	}
}

// A Memory lets go what the last blocks did not need.
func TestMemoryShrinks(t *testing.T) {
	var m Memory
	for range 2 {
		m.Bytes(8 << 20)
		m.Reset()
	}
	if w := m.Weight(); w < 8<<20 {
		t.Errorf("%d bytes are kept of %d", w, 8<<20)
	}
	for range maxIdle + 2 {
		m.Bytes(1 << 10)
		m.Reset()
	}
	if w := m.Weight(); w > 64<<10 {
		t.Errorf("%d bytes are kept of %d", w, 1<<10)
	}
	m.Bytes(2 * maxArena)
	if m.Reset(); m.Weight() > maxArena {
		t.Errorf("%d bytes are kept of %d", m.Weight(), 2*maxArena)
	}
}
