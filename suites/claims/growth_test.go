package claims

import (
	"math"
	"testing"
)

func TestFitGrowthFindsTheExponents(t *testing.T) {
	var points []point
	for _, n := range []float64{10, 100, 1000} {
		for _, d := range []float64{2, 4, 8} {
			points = append(points, point{n, d, 7 * n * math.Pow(d, 1.5)})
		}
	}
	g := fitGrowth(points)
	if math.Abs(g.n-1) > 1e-9 || math.Abs(g.d-1.5) > 1e-9 || g.residual > 1e-9 {
		t.Errorf("got %v with residual %g, want n^1 d^1.5 exactly", g, g.residual)
	}
}
