package claims

import "math"

// A point is a count at a depth.
type point struct{ d, count float64 }

// fitGrowth returns x of the law count = c * d^x, by least squares of the logarithms.
func fitGrowth(points []point) (x float64) {
	var md, mc float64
	k := float64(len(points))
	for _, p := range points {
		md += math.Log(p.d) / k
		mc += math.Log(p.count) / k
	}
	var dd, dc float64
	for _, p := range points {
		d := math.Log(p.d) - md
		dd, dc = dd+d*d, dc+d*(math.Log(p.count)-mc)
	}
	return dc / dd
}
