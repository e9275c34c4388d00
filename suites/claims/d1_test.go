package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// loopTimes makes B's speedup over A depend on the experiment.
func loopTimes(speedup func(e *lab.Experiment) float64) func(*lab.Experiment, string) float64 {
	return func(e *lab.Experiment, v string) float64 {
		if v == variantLoop {
			return 1900 / speedup(e)
		}
		return 1900
	}
}

func TestJudgeD1(t *testing.T) {
	c := claimD1()
	of := func(speedup func(e *lab.Experiment) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, loopTimes(speedup)))
	}
	expect(t, "always 2x", of(func(*lab.Experiment) float64 { return 2 }), Holds)
	expect(t, "never", of(func(*lab.Experiment) float64 { return 1.2 }), DoesNotHold)
	expect(t, "slower", of(func(*lab.Experiment) float64 { return 0.3 }), DoesNotHold)
	expect(t, "new ones only", of(func(e *lab.Experiment) float64 {
		if e.Name == "D1-existing" {
			return 0.2
		}
		return 2
	}), Depends)
	expect(t, "on the limit", of(func(*lab.Experiment) float64 { return 1.71 }), CannotTell)

	// Depths 2 to 4 do not count: the claim is about depth 5 on.
	expect(t, "slow where nothing is claimed", of(func(e *lab.Experiment) float64 {
		if d := e.Params["depth"]; d == "2" || d == "3" || d == "4" {
			return 1
		}
		return 2
	}), Holds)
}
