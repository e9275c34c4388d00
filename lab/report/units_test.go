package report

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestUnits(t *testing.T) {
	nan := math.NaN()
	e := func(m, lo, hi float64) run.Estimate { return run.Estimate{Median: m, Lo: lo, Hi: hi, N: 20} }
	for _, c := range []struct{ got, want string }{
		{duration(0), "0 ns"}, {duration(0.452), "0.452 ns"}, {duration(12.34), "12.3 ns"}, {duration(999.4), "999 ns"}, {duration(999.6), "1.00 us"},
		{duration(1234), "1.23 us"}, {duration(123456), "123 us"}, {duration(1.5e6), "1.50 ms"}, {duration(3e9), "3.00 s"}, {duration(7200e9), "7200 s"}, {duration(nan), "n/a"},
		{size(0), "0 B"}, {size(48), "48 B"}, {size(1536), "1.50 KiB"}, {size(12 << 20), "12.0 MiB"}, {size(1023.9), "1.00 KiB"}, {size(1000), "1,000 B"},
		{count(0), "0"}, {count(7), "7"}, {count(0.5), "0.500"}, {count(1234567), "1,234,567"}, {count(-1234), "-1,234"}, {count(nan), "n/a"},
		{percent(0), "0 %"}, {percent(.05), "5 %"}, {percent(.0213), "2.1 %"}, {percent(.31), "31 %"}, {percent(.00001), "<0.01 %"},
		{Ratio(e(.48, .46, .51)), "0.48x [0.46, 0.51]"}, {Ratio(e(77.21, 74.9, 79.84)), "77.2x [74.9, 79.8]"}, {Ratio(e(.0123, .011, .0136)), "0.012x [0.011, 0.014]"},
		{Ratio(e(1, nan, nan)), "1.00x [?]"}, {Ratio(e(nan, nan, nan)), "n/a"},
		{plusMinus(e(1000, 960, 1020)), "1.00 us ±4%"}, {plusMinus(e(1000, nan, nan)), "1.00 us ±?"},
		{Time(e(1234, 1200, 1260)), "1.23 us [1.20, 1.26]"}, {Time(e(980e3, 950e3, 1020e3)), "980 us [950, 1020]"},
		{pValue(.00001), "<0.0001"}, {pValue(.0031), "0.0031"}, {pValue(.42), "0.42"}, {pValue(1), "1.00"}, {pValue(nan), "n/a"},
		{wall(run.Nanos(581e9)), "9 min 41 s"}, {wall(run.Nanos(3660e9)), "1 h 1 min"}, {wall(1.5e9), "1.50 s"},
		{quantity(.013, "share"), "1.3 %"}, {quantity(2<<20, "B/s"), "2.00 MiB/s"}, {quantity(1500, "ns"), "1.50 us"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestScaleTicks(t *testing.T) {
	for _, s := range []scale{{0, 1, false}, {18, 62, false}, {1e-9, 3e-9, false}, {0.3, 1.3, true}, {10, 12, true}, {1, 1e9, true}, {0.9, 90, true}, {-3, 50, false}} {
		ticks := s.ticks(5)
		if len(ticks) < 2 || len(ticks) > 10 {
			t.Errorf("%v has the ticks %v", s, ticks)
		}
		last := -1.0
		for _, x := range ticks {
			if a := s.at(x); a <= last || x < s.lo-1e-12 || x > s.hi*(1+1e-9) {
				t.Errorf("%v: tick %v stands at %v after %v", s, x, a, last)
			} else {
				last = a
			}
		}
	}
}

// A percentile with an interval says how far it may be off; one of groups has none.
func TestTailFigure(t *testing.T) {
	v := &run.VariantResult{Batch: 1, Latency: []run.Percentile{{P: 50, NS: 500}, {P: 99, NS: 1000, Lo: 900, Hi: 1200}}}
	if got := tailFigure(v, 99).Text; got != "1.00 us ±20%" {
		t.Errorf("with an interval: %q", got)
	}
	if got := tailFigure(v, 50).Text; got != "500 ns" {
		t.Errorf("without one: %q", got)
	}
	if v.Batch = 8; tailFigure(v, 99).Text != percentileFigure(v, 99).Text {
		t.Errorf("of groups: %q", tailFigure(v, 99).Text)
	}
}
