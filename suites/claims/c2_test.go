package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC2(t *testing.T) {
	c := claimC2()
	of := func(shares func(e *lab.Experiment, v string) map[string]float64) run.Claim {
		return judge(t, &c, onJournaledExt4(&c).waiting(&c, shares))
	}
	journal, lock := "k "+run.CauseJournalInode, "k "+run.CauseDirectoryLock
	always := func(m map[string]float64) func(*lab.Experiment, string) map[string]float64 {
		return func(*lab.Experiment, string) map[string]float64 { return m }
	}
	expect(t, "as claimed", of(always(map[string]float64{journal: .5, lock: .01, run.CauseRunning: .4})), Holds)
	got := of(always(map[string]float64{run.CauseRunnable: .9, lock: .05, run.CauseRunning: .05}))
	expect(t, "elsewhere", got, DoesNotHold)
	if !strings.Contains(got.Measured, "94.7 % ready") || !strings.Contains(got.Measured, "5.3 % directory's lock") {
		t.Errorf("the waits are not named: %s", got.Measured)
	}
	expect(t, "in the kernel only", of(always(map[string]float64{run.CauseRunnable: .9, journal: .05, run.CauseRunning: .05})), Depends)
	expect(t, "new names only", of(func(e *lab.Experiment, _ string) map[string]float64 {
		if e.Name == "C2-coded" {
			return map[string]float64{run.CauseRunnable: .9}
		}
		return map[string]float64{journal: .9}
	}), Depends)

	m := onJournaledExt4(&c).waiting(&c, always(map[string]float64{journal: 1}))
	for _, r := range m.results {
		for i := range r.Blocks {
			r.Blocks[i].Waits.Missing = map[string]run.Reason{"stack": {Code: run.ReasonText, Text: "permission denied"}}
		}
	}
	got = judge(t, &c, m)
	expect(t, "without stacks", got, CannotTest)
	if !strings.Contains(got.Why, "permission denied") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
	expect(t, "not watched", judge(t, &c, onJournaledExt4(&c)), CannotTest)

	// One block that was too short for a sample does not matter.
	m = onJournaledExt4(&c).waiting(&c, always(map[string]float64{run.CauseRunnable: .9, lock: .1}))
	m.results[0].Blocks[3].Waits.Missing = map[string]run.Reason{"kernel": {Code: run.ReasonText, Text: "too short"}}
	expect(t, "one too short", judge(t, &c, m), DoesNotHold)

	m = onJournaledExt4(&c)
	m.place.Environment.Journal = "none"
	expect(t, "no journal", judge(t, &c, m), CannotTest)
	expect(t, "XFS", judge(t, &c, in("d", "xfs")), CannotTest)
}
