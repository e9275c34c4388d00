package claims

import (
	"fmt"
	"math"
)

// A point is the number of system calls of a batch of n paths of depth d.
type point struct{ n, d, calls float64 }

// A growth is the law calls = c * n^growth.n * d^growth.d. residual is the largest
// relative distance of a point from it.
type growth struct{ n, d, residual float64 }

func (g growth) String() string { return fmt.Sprintf("n^%.2f d^%.2f", g.n, g.d) }

// fitGrowth fits the law by least squares of the logarithms. The points must be a
// complete grid, on which n and d are uncorrelated: each slope is found by itself.
func fitGrowth(points []point) growth {
	var mn, md, mc float64
	k := float64(len(points))
	for _, p := range points {
		mn += math.Log(p.n) / k
		md += math.Log(p.d) / k
		mc += math.Log(p.calls) / k
	}
	var nn, nc, dd, dc float64
	for _, p := range points {
		n, d, c := math.Log(p.n)-mn, math.Log(p.d)-md, math.Log(p.calls)-mc
		nn, nc, dd, dc = nn+n*n, nc+n*c, dd+d*d, dc+d*c
	}
	g := growth{n: nc / nn, d: dc / dd}
	for _, p := range points {
		off := math.Log(p.calls) - mc - g.n*(math.Log(p.n)-mn) - g.d*(math.Log(p.d)-md)
		g.residual = math.Max(g.residual, math.Abs(math.Expm1(off)))
	}
	return g
}
