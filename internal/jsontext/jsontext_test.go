package jsontext

import "testing"

func TestHex4(t *testing.T) {
	for text, want := range map[string]rune{"0000": 0, "00e9": 0xe9, "FfFf": 0xffff, "12345": 0x1234, "": -1, "123": -1, "00g0": -1, "+123": -1, "00`0": -1} {
		r, ok := Hex4([]byte(text))
		if !ok {
			r = -1
		}
		if r != want {
			t.Errorf("%q: %x, want %x", text, r, want)
		}
	}
}
