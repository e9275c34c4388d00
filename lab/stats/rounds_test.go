package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRoundsNeeded(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name        string
		e           Estimate
		least, most float64
		want        int
	}{
		// Half of the interval is 10 %, the distance log 1.05: 20 (1.43 0.1/0.0488)^2.
		{"unchanged", Estimate{Value: 1, Lo: math.Exp(-0.1), Hi: math.Exp(0.1), N: 20}, 1 / 1.05, 1.05, 172},
		{"one bound", Estimate{Value: 0.5, Lo: 0.5 * math.Exp(-0.1), Hi: 0.5 * math.Exp(0.1), N: 20}, 0, 1.05, 6},
		{"far away", Estimate{Value: 2, Lo: 1.8, Hi: 2.2, N: 20}, 1 / 1.05, 1.05, 6},
		{"at the bound", Estimate{Value: 1.05, Lo: 1, Hi: 1.1, N: 20}, 1 / 1.05, 1.05, math.MaxInt},
		{"no noise", Estimate{Value: 1.05, Lo: 1.05, Hi: 1.05, N: 20}, 1 / 1.05, 1.05, 6},
		{"no interval", Estimate{Value: 1, Lo: nan, Hi: nan, N: 3}, 1 / 1.05, 1.05, 6},
		{"infinite", Estimate{Value: inf, Lo: 1, Hi: inf, N: 20}, 0, 1.05, 6},
		{"no bound", Estimate{Value: 1, Lo: 0.5, Hi: 2, N: 20}, 0, inf, 6},
	} {
		if got := RoundsNeeded(c.e, c.least, c.most); got != c.want {
			t.Errorf("%s: %d rounds, want %d", c.name, got, c.want)
		}
	}
}

// As many rounds as 20 rounds ask for settle what is unclear, about four times
// in five.
func TestRoundsNeededAreEnough(t *testing.T) {
	const trials, most = 200, 1.05
	rng := rand.New(rand.NewPCG(3, 3))
	pairs := func(n int, truth, cv float64) Estimate {
		var x, y []float64
		for range n {
			x, y = append(x, truth*math.Exp(cv*rng.NormFloat64())), append(y, math.Exp(cv*rng.NormFloat64()))
		}
		return RatioPaired(x, y, 0.95, rng, 400)
	}
	for _, truth := range []float64{1, 1.15} {
		settled, asked := 0, 0
		for range trials {
			e := pairs(20, truth, 0.08)
			// The difference that is asked about, with the noise that was seen.
			e.Lo, e.Hi, e.Value = e.Lo/e.Value*truth, e.Hi/e.Value*truth, truth
			n := RoundsNeeded(e, 1/most, most)
			asked += n
			if again := pairs(n, truth, 0.08); again.Hi <= most || again.Lo > most {
				settled++
			}
		}
		t.Logf("a ratio of %v: %d rounds on average, %d of %d settled", truth, asked/trials, settled, trials)
		if settled < trials*7/10 || settled > trials*97/100 {
			t.Errorf("a ratio of %v: %d of %d were settled, want about four of five", truth, settled, trials)
		}
	}
}
