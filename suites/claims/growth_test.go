package claims

import (
	"math"
	"testing"
)

func TestFitGrowthFindsTheExponent(t *testing.T) {
	var points []point
	for _, d := range []float64{2, 4, 8} {
		points = append(points, point{d, 7 * math.Pow(d, 1.5)})
	}
	if x := fitGrowth(points); math.Abs(x-1.5) > 1e-9 {
		t.Errorf("got d^%v, want d^1.5", x)
	}
}
