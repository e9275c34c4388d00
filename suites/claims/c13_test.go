package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC13(t *testing.T) {
	c := claimC13()
	of := func(cpus int, one, own map[string]float64) run.Claim {
		return judge(t, &c, in("d", "ext4").cpus(cpus).all(&c, func(*lab.Experiment, string) float64 { return 1000 }).waiting(&c,
			func(_ *lab.Experiment, v string) map[string]float64 {
				if v == variantOneName {
					return one
				}
				return own
			}))
	}
	lock, cache := "k "+run.CauseDirectoryLock, "k "+run.CauseNameCache
	published := map[string]float64{lock: .127, cache: .038, run.CauseRunnable: .5}
	got := of(8, published, published)
	expect(t, "as claimed", got, Holds)
	// 0.127 of 1 s of goroutine time over 1,000 operations.
	if !strings.Contains(got.Measured, "127.4 us [127.0, 127.8]") || !strings.Contains(got.Measured, "38.1 us [38.0, 38.2]") {
		t.Errorf("the waits are not named: %s", got.Measured)
	}
	locked := map[string]float64{lock: .2, run.CauseRunnable: .5}
	entries := map[string]float64{lock: .1, cache: .2, run.CauseRunnable: .5}
	expect(t, "the lock alone", of(8, locked, locked), Holds)
	expect(t, "the entries more", of(8, entries, entries), DoesNotHold)
	expect(t, "neither", of(8, map[string]float64{run.CauseRunnable: .9}, map[string]float64{run.CauseRunnable: .9}), DoesNotHold)
	expect(t, "one name, as published, is refuted", of(8, entries, locked), DoesNotHold)
	expect(t, "one name, as published", of(8, locked, entries), Holds)
	expect(t, "two processors", of(2, locked, locked), CannotTest)

	m := in("d", "ext4").cpus(8).all(&c, func(*lab.Experiment, string) float64 { return 1000 })
	expect(t, "not watched", judge(t, &c, m), CannotTest)
}
