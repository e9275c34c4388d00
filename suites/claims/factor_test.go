package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestFactor(t *testing.T) {
	inf := math.Inf(1)
	for want, e := range map[string]run.Estimate{
		"1.32x [1.28, 1.37]":       {Median: 1.32, Lo: 1.28, Hi: 1.37},
		"0.0012x [0.0011, 0.0020]": {Median: 0.0012, Lo: 0.0011, Hi: 0.002},
		"58699x [49237, 93634]":    {Median: 58699.4, Lo: 49237.3, Hi: 93633.9},
		"2.00x [no interval]":      {Median: 2, Lo: math.NaN(), Hi: math.NaN()},
		"at least 17.00x":          {Median: inf, Lo: 17, Hi: inf},
		"some against none":        {Median: inf, Lo: inf, Hi: inf},
		"+Infx [no interval]":      {Median: inf, Lo: math.NaN(), Hi: math.NaN()},
		"20.00x [17.00, +Inf]":     {Median: 20, Lo: 17, Hi: inf},
	} {
		if got := factor(e); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
