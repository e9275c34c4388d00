package stats

import (
	"math"
	"testing"
)

// The expected interval is SciPy's t.interval over the logarithms.
func TestRatioRough(t *testing.T) {
	got := RatioRough([]float64{1, 2, 4}, []float64{1, 1, 1}, 0.95)
	half := 4.302652729749464 * math.Ln2 / math.Sqrt(3)
	near(t, "value", got.Value, 2)
	near(t, "lo", got.Lo, 2*math.Exp(-half))
	near(t, "hi", got.Hi, 2*math.Exp(half))
	for _, n := range []int{0, 1} {
		x := []float64{3}[:n]
		if e := RatioRough(x, x, 0.95); !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) || e.Warning == nil || e.N != n {
			t.Errorf("from %d pairs: %+v", n, e)
		}
	}
}
