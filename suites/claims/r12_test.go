package claims

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR12(t *testing.T) {
	c := claimR12()
	// p99 in milliseconds, and the share of the limit that the volume serves above it.
	of := func(served float64, p99 func(client string, l r12Load) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 5e6 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			for _, l := range r12Loads {
				v.Metrics[l.tail()] = suitetest.About(p99(v.Name, l) * 1e6)
				v.Metrics[l.attained()] = suitetest.About(min(l.share, served) * l.limit())
			}
		}))
	}
	expect(t, "pacing keeps what the volume does not", of(1, func(client string, _ r12Load) float64 {
		return map[string]float64{r12Free: 160, r12Paced: 20}[client]
	}), Holds)
	got := of(1, func(client string, l r12Load) float64 {
		if l.bursts {
			return 90
		}
		return 10
	})
	expect(t, "both wait for a burst", got, Depends)
	if !strings.Contains(got.Why, "no with 16 KiB, 0.5 of the limit, in bursts") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	got = of(1, func(string, r12Load) float64 { return 10 })
	expect(t, "the volume alone keeps it", got, DoesNotHold)
	if !strings.Contains(got.Why, "does not pace itself") {
		t.Errorf("the reason: %s", got.Why)
	}
	expect(t, "pacing makes it worse", of(1, func(client string, _ r12Load) float64 {
		return map[string]float64{r12Free: 60, r12Paced: 200}[client]
	}), DoesNotHold)
	expect(t, "above the limit only", of(1, func(client string, l r12Load) float64 {
		switch {
		case l.share > 1:
			return 900
		case client == r12Free && l.bursts:
			return 80
		}
		return 10
	}), Holds)
	// The longest p99 of the unpaced client is unclear, another load's is clear.
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 5e6 })
	m.each(func(_ *run.Result, v *run.VariantResult) {
		for i, l := range r12Loads {
			v.Metrics[l.tail()], v.Metrics[l.attained()] = suitetest.About(10e6), suitetest.About(min(l.share, 1)*l.limit())
			switch {
			case v.Name == r12Paced:
			case i == 0:
				v.Metrics[l.tail()] = suitetest.Wide(90e6, 0.8)
			case i == 1:
				v.Metrics[l.tail()] = suitetest.About(80e6)
			}
		}
	})
	expect(t, "one load is enough", judge(t, &c, m), Holds)
	expect(t, "on the limit", of(1, func(client string, _ r12Load) float64 {
		return map[string]float64{r12Free: 160, r12Paced: 50}[client]
	}), CannotTell)
	got = of(0.3, func(string, r12Load) float64 { return 500 })
	expect(t, "a disk that is slower than the volume", got, CannotTest)
	if !strings.Contains(got.Why, "this one served") {
		t.Errorf("not mentioned: %s", got.Why)
	}

	m = in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	for i := range m.results[0].Variants {
		m.results[0].Variants[i].Error = "only root can mount"
	}
	got = judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "root") {
		t.Errorf("not mentioned: %s", got.Why)
	}
}

// Arrivals come at the load's rate, and bursts are worth 25 ms of the volume.
func TestR12Arrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range r12Loads {
		due := l.arrivals(40_000, rng.Float64)
		if !slices.IsSorted(due) {
			t.Fatalf("%v: not in order", l)
		}
		rate := float64(len(due)) / due[len(due)-1].Seconds()
		if want := l.share * l.limit(); rate < 0.9*want || rate > 1.1*want {
			t.Errorf("%v: %.0f a second, want %.0f", l, rate, want)
		}
		together := 0
		for _, d := range due {
			if d == due[0] {
				together++
			}
		}
		want := 1
		if l.bursts {
			want = int(l.limit() * r12Burst.Seconds())
		}
		if together != want {
			t.Errorf("%v: %d requests at once, want %d", l, together, want)
		}
		if least := l.requests(r12Requests); least < r12Requests || float64(least) > l.limit()*2*time.Second.Seconds() {
			t.Errorf("%v: %d requests", l, least)
		}
	}
}
