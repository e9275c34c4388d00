package column

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestPeek compares what is known of columns that are not open with their values.
func TestPeek(t *testing.T) {
	var e Encoder
	var c Column
	told, absent, skimmed, late := map[Kind]int{}, map[byte]int{}, 0, 0
	ask := func(v []string, packed, text []byte, test Test) {
		times := rowTimes(len(v))
		passed := 0
		for _, s := range v {
			if test.Holds([]byte(s)) {
				passed++
			}
		}
		part := Some
		if c.OpenPart(packed, text, len(v)) {
			part = c.Part(packed, test)
		}
		without := Some
		if !bytes.Contains(text, test.Text) {
			without = PeekWithout(packed, test)
		}
		for i, share := range [...]Share{Peek(packed, test), PeekText(packed, text, test), part, PeekTimes(packed, slices.Min(times), slices.Max(times), test), without} {
			if share == None && passed > 0 || share == All && passed < len(v) {
				t.Fatalf("%v column: %d of %d values pass %d %v of %q; told %d", KindOf(packed), passed, len(v), test.Op, test.Fold, test.Text, share)
			}
			if share != Some {
				told[KindOf(packed)]++
				if i == 2 {
					skimmed++
				}
				if i == 3 && share == None {
					late++
				}
				if i == 4 {
					absent[packed[0]]++
				}
			}
		}
	}
	var all [][]string
	for _, v := range samples() {
		all = append(all, v)
	}
	for i := range layouts {
		for digits := range uint8(7) {
			f := timeForm{uint8(i), min(digits, 1), digits, digits & 1}
			if f.valid() {
				all = append(all, texts(70, func(i int) string {
					return string(f.append(nil, 1_700_000_000_000_000_000/f.unit()+7919*int64(i), new(timeStamp)))
				}))
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 12 {
		all = append(all, texts(100, func(int) string { return fmt.Sprintf("%0*d", i%3*3, rng.IntN(1<<(2*i)+1)) }))
	}
	needles := testsOf([]string{"00005", "12:3", "2026-01", "T0", "Jan 1", "9Z", ".12", "10.0.", "ABC", "abc", "-", "0", "00"})
	for _, v := range all {
		packed, text := encode(&e, v, rowTimes(len(v)))
		for _, test := range append(testsOf(v), needles...) {
			ask(v, packed, text, test)
		}
	}
	if skimmed == 0 {
		t.Error("no dictionary was told by its values")
	}
	for _, head := range []byte{byte(Text), byte(Dictionary), byte(Integer) | flagMiss} {
		if absent[head] == 0 {
			t.Errorf("nothing was told of columns with the head %#x by absent text", head)
		}
	}
	if late == 0 {
		t.Error("no times were told by those of the rows")
	}
	for _, k := range []Kind{Constant, Text, Integer, Hex, Decimal, IPv4, UUID, HexBytes, Dictionary, Time} {
		if told[k] == 0 {
			t.Errorf("nothing was told of a %v column", k)
		}
	}
}

// TestMatchNumbers compares tests of integers and addresses with their texts.
func TestMatchNumbers(t *testing.T) {
	var e Encoder
	var c Column
	rng := rand.New(rand.NewPCG(7, 8))
	integers := texts(500, func(int) string { return fmt.Sprint(rng.Int64N(1<<rng.IntN(63)+1) - 50) })
	addresses := texts(500, func(int) string {
		return fmt.Sprintf("%d.%d.%d.%d", rng.IntN(256), rng.IntN(20), rng.IntN(256), rng.IntN(3))
	})
	decimals := texts(500, func(int) string {
		return strconv.FormatFloat(float64(rng.Int64N(1<<rng.IntN(40)+1)-50)/1000, 'f', -1, 64)
	})
	for _, v := range [][]string{integers, addresses, decimals} {
		check(t, &e, &c, v)
		for range 8 {
			for _, test := range testsOf(v[rng.IntN(len(v)):][:1]) {
				checkMatch(t, &c, v, test)
			}
		}
	}
	check(t, &e, &c, addresses)
	for _, text := range []string{".", "..", "1..", "1.2.3.4.", ".1.2.3", "0", "00", "1.1", "5."} {
		for _, op := range []Op{Contains, HasPrefix, HasSuffix, Equal} {
			checkMatch(t, &c, addresses, Test{Op: op, Text: []byte(text)})
		}
	}
}
