package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC2(t *testing.T) {
	c := claimC2()
	on := func() *made { return onJournaledExt4(&c).cpus(8) }
	of := func(shares func(e *lab.Experiment, v string) map[string]float64) run.Claim {
		return judge(t, &c, on().waiting(&c, shares))
	}
	journal, lock := "k "+run.CauseJournalInode, "k "+run.CauseDirectoryLock
	always := func(m map[string]float64) func(*lab.Experiment, string) map[string]float64 {
		return func(*lab.Experiment, string) map[string]float64 { return m }
	}
	inJournal := map[string]float64{run.CauseRunnable: .5, journal: .4, lock: .01, run.CauseRunning: .05}
	expect(t, "as claimed", of(always(inJournal)), Holds)
	got := of(always(map[string]float64{run.CauseRunnable: .9, lock: .05, run.CauseRunning: .05}))
	expect(t, "elsewhere", got, DoesNotHold)
	if !strings.Contains(got.Measured, "94.7 % ready") || !strings.Contains(got.Measured, "5.3 % directory's lock") {
		t.Errorf("the waits are not named: %s", got.Measured)
	}
	expect(t, "ten each only", of(func(e *lab.Experiment, _ string) map[string]float64 {
		if e.Params["each"] == "1" {
			return map[string]float64{lock: .4, run.CauseRunnable: .5}
		}
		return inJournal
	}), Depends)
	expect(t, "nobody in the kernel", of(always(map[string]float64{run.CauseRunnable: .9})), CannotTest)
	expect(t, "two processors", judge(t, &c, on().cpus(2).waiting(&c, always(inJournal))), CannotTest)

	m := on().waiting(&c, always(map[string]float64{journal: 1}))
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
	expect(t, "not watched", judge(t, &c, on()), CannotTest)

	// One block that was too short for a sample does not matter.
	m = on().waiting(&c, always(map[string]float64{run.CauseRunnable: .9, lock: .1}))
	m.results[0].Blocks[3].Waits.Missing = map[string]run.Reason{"kernel": {Code: run.ReasonText, Text: "too short"}}
	expect(t, "one too short", judge(t, &c, m), DoesNotHold)

	m = on()
	m.place.Environment.Journal = "none"
	expect(t, "no journal", judge(t, &c, m), CannotTest)
	expect(t, "XFS", judge(t, &c, in("d", "xfs")), CannotTest)
}
