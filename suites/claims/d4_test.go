package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeD4(t *testing.T) {
	c := claimD4()
	of := func(ratio, left func(name string) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			file := 94_000.
			if strings.HasPrefix(v, "mkdir") {
				file *= ratio(e.Name)
			}
			if v == variantMkdirHere || v == variantFileHere {
				file *= left(e.Name)
			}
			return file
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	warm := func(cold, warm float64) func(string) float64 {
		return func(name string) float64 {
			if name == "D4-cold" {
				return cold
			}
			return warm
		}
	}
	expect(t, "as claimed", of(is(1.35), is(0.3)), Holds)
	expect(t, "another ratio", of(is(3), is(0.3)), DoesNotHold)
	expect(t, "the walk is nothing", of(is(1.35), is(0.95)), DoesNotHold)
	expect(t, "cold only", of(is(1.35), warm(0.3, 0.9)), Depends)
	expect(t, "on the limit", of(is(1.5), is(0.3)), CannotTell)
}
