package claims

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// waiting makes up the watched blocks of every variant: shares of the
// goroutine time by cause, where a cause of the kernel begins with "k ".
func (m *made) waiting(c *Claim, shares func(e *lab.Experiment, v string) map[string]float64) *made {
	for i := range c.Experiments {
		e := &c.Experiments[i]
		r := m.results[i]
		for _, v := range e.Variants {
			for n := range 8 {
				b := run.Block{Variant: v.Name, Role: run.RoleWaits, Round: n + 1, Ops: 1000, Wall: 1e6, Waits: &run.Waits{Window: 1e6, Total: 1e9}}
				for cause, share := range shares(e, v.Name) {
					where := run.WaitRuntime
					if of, found := strings.CutPrefix(cause, "k "); found {
						where, cause = run.WaitKernel, of
					}
					if cause == run.CauseRunning {
						where = run.WaitRunning
					}
					b.Waits.Series = append(b.Waits.Series, run.Wait{Where: where, Cause: cause, Time: []run.Nanos{run.Nanos(share * 1e9 * (1 + 0.001*float64(n)))}})
				}
				r.Blocks = append(r.Blocks, b)
			}
		}
	}
	return m
}

func onJournaledExt4(c *Claim) *made {
	m := in("d", "ext4").all(c, func(*lab.Experiment, string) float64 { return 1000 })
	m.place.Environment.Journal = "ordered"
	return m
}

// Each variant creates its files, and asks for waits.
func TestWaitClaimsRun(t *testing.T) {
	const ops = 1500
	runClaims(t, creationWaitClaims(), ops, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		if !e.Waits {
			t.Errorf("%s does not ask for waits", e.ID())
		}
		names := map[string]int64{"C2-coded": 26, variantOneName: 1, variantOwnNames: 1000}
		wantEntries(t, dir, cmp.Or(names[e.Name], names[b.Variant], ops))
	})
}
