package column

import (
	"math"
	"strconv"
	"testing"
)

func parseFloat(p []byte) float64 {
	x, err := strconv.ParseFloat(string(p), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// Numbers are those of the texts.
func TestAppendNumbers(t *testing.T) {
	var e Encoder
	var c Column
	for name, v := range samples() {
		t.Run(name, func(t *testing.T) {
			check(t, &e, &c, v)
			got := c.AppendNumbers([]float64{7}, parseFloat)
			if len(got) != len(v)+1 || got[0] != 7 {
				t.Fatalf("%d numbers are appended to one; want %d", len(got), len(v))
			}
			for i, s := range v {
				want := parseFloat([]byte(s))
				if x := got[i+1]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
					t.Fatalf("%v column: %q is %v; want %v", c.Kind(), s, x, want)
				}
			}
		})
	}
}
