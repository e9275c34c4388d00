package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC3(t *testing.T) {
	c := claimC3()
	made := func(cpus int, here, shm, off float64) *made {
		return in("d", "ext4").cpus(cpus).all(&c, byVariant(map[string]float64{
			variantNamed: 210_000, variantUnnamed: 210_000 / here, variantInShm: 210_000 / shm, variantGivenOne: 210_000,
			variantCheckOn: 210_000, variantCheckOff: 210_000 / off,
		}))
	}
	of := func(here, shm, off float64) run.Claim { return judge(t, &c, made(8, here, shm, off)) }
	expect(t, "as claimed", of(15, 15, 2.4), Holds)
	expect(t, "nothing", of(1.2, 0.9, 1), DoesNotHold)
	expect(t, "the check gains nothing", of(15, 15, 1), DoesNotHold)
	expect(t, "on tmpfs only", of(1, 15, 2.4), Depends)
	expect(t, "on the limit", of(210/14.5*0.9, 15, 2.4), CannotTell)
	expect(t, "two processors", judge(t, &c, made(2, 15, 15, 1)), CannotTest)

	m := made(8, 15, 15, 1)
	for i := range m.results[1].Variants {
		m.results[1].Variants[i].Error = "only root can mount"
	}
	got := judge(t, &c, m)
	expect(t, "no root", got, Holds)
	if !strings.Contains(got.Why, "only root can mount") || !strings.Contains(got.Measured, "O_TMPFILE") {
		t.Errorf("want what is missing and what was measured: %s; %s", got.Why, got.Measured)
	}
}
