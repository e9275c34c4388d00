package claims

import (
	"os"
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

func TestJudgeC2(t *testing.T) {
	c := claimC2()
	of := func(shares func(e *lab.Experiment, v string) map[string]float64) run.Claim {
		return judge(t, &c, onJournaledExt4(&c).waiting(&c, shares))
	}
	journal, lock := "k "+run.CauseJournalInode, "k "+run.CauseFolderLock
	always := func(m map[string]float64) func(*lab.Experiment, string) map[string]float64 {
		return func(*lab.Experiment, string) map[string]float64 { return m }
	}
	expect(t, "as claimed", of(always(map[string]float64{journal: .5, lock: .01, run.CauseRunning: .4})), Holds)
	got := of(always(map[string]float64{run.CauseRunnable: .9, lock: .05, run.CauseRunning: .05}))
	expect(t, "elsewhere", got, DoesNotHold)
	if !strings.Contains(got.Measured, "94.7 % ready") || !strings.Contains(got.Measured, "5.3 % folder's lock") {
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
			r.Blocks[i].Waits.Missing = map[string]string{"stack": "permission denied"}
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
	m.results[0].Blocks[3].Waits.Missing = map[string]string{"kernel": "too short"}
	expect(t, "one too short", judge(t, &c, m), DoesNotHold)

	m = onJournaledExt4(&c)
	m.place.Environment.Journal = "none"
	expect(t, "no journal", judge(t, &c, m), CannotTest)
	expect(t, "XFS", judge(t, &c, in("d", "xfs")), CannotTest)
}

func TestJudgeC13(t *testing.T) {
	c := claimC13()
	of := func(own, common map[string]float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1000 }).waiting(&c,
			func(_ *lab.Experiment, v string) map[string]float64 {
				if v == variantOwnNames {
					return own
				}
				return common
			}))
	}
	lock, cache := "k "+run.CauseFolderLock, "k "+run.CauseNameCache
	claimed := map[string]float64{lock: .127, cache: .038, run.CauseRunnable: .5}
	got := of(claimed, claimed)
	expect(t, "as claimed", got, Holds)
	// 0.127 of 1 s of goroutine time over 1,000 operations.
	if !strings.Contains(got.Measured, "127.4 us [127.0, 127.8]") || !strings.Contains(got.Measured, "38.1 us [38.0, 38.2]") {
		t.Errorf("the waits are not named: %s", got.Measured)
	}
	locked := map[string]float64{lock: .2, run.CauseRunnable: .5}
	expect(t, "the lock alone", of(locked, locked), DoesNotHold)
	expect(t, "neither", of(map[string]float64{run.CauseRunnable: .9}, map[string]float64{run.CauseRunnable: .9}), DoesNotHold)
	expect(t, "common names only", of(locked, claimed), Depends)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1000 })
	expect(t, "not watched", judge(t, &c, m), CannotTest)
}

// Each variant creates what it says, and is watched where that is asked for.
func TestWaitClaimsRun(t *testing.T) {
	for _, c := range creationWaitClaims() {
		for _, e := range c.Experiments {
			if !e.Waits {
				t.Errorf("%s does not ask for waits", e.ID())
			}
			for i := range e.Variants {
				dir := t.TempDir()
				if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, 1500, 7); err != nil {
					t.Errorf("%s: %v", e.ID(), err)
				}
				list, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				want := 1500
				if e.Name == "C2-coded" {
					want = 26
				}
				if len(list) != want {
					t.Errorf("%s %s left %d files, want %d", e.ID(), e.Variants[i].Name, len(list), want)
				}
			}
		}
	}
}
