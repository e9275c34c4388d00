package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
)

func TestEachClaimHasOneRule(t *testing.T) {
	for _, c := range allClaims() {
		if (c.judge == nil) == (c.judgeAll == nil) {
			t.Errorf("claim %s needs exactly one rule", c.ID)
		}
	}
}

func TestJudgeNamesWhatIsMissing(t *testing.T) {
	c := claimD1()
	twice := loopTimes(func(*lab.Experiment) float64 { return 2 })

	m := in("d", "ext4").all(&c, twice).allocating(3, 2, 2)
	m.results = m.results[1:]
	got := judge(t, &c, m)
	expect(t, "a result less", got, CannotTest)
	if !strings.Contains(got.Why, "claims/D1-fresh") || len(got.Results) != len(c.Experiments)-1 {
		t.Errorf("not named: %s; results %q", got.Why, got.Results)
	}

	m = in("d", "ext4").all(&c, twice).allocating(3, 2, 2)
	for i := range m.results[0].Variants {
		m.results[0].Variants[i].Error = "no space left on device"
	}
	got = judge(t, &c, m)
	expect(t, "a failed variant", got, CannotTest)
	if !strings.Contains(got.Why, "no space left") {
		t.Errorf("not named: %s", got.Why)
	}

	m = in("d", "ext4").all(&c, twice).allocating(3, 2, 2)
	for _, r := range m.results {
		r.Comparisons[0].Ratio.Lo, r.Comparisons[0].Ratio.Hi = math.NaN(), math.NaN()
	}
	expect(t, "too few blocks for an interval", judge(t, &c, m), CannotTell)
}

// With nothing measured no rule may give a verdict, or a figure.
func TestJudgeWithoutResults(t *testing.T) {
	for _, c := range allClaims() {
		if c.ID == "R6" { // judged by arithmetic
			continue
		}
		m := in("d", "ext4")
		m.place.Environment.Device = "/dev/sda"
		got := judge(t, &c, m)
		expect(t, "nothing", got, CannotTest)
		if got.Measured != "" && got.Measured != "not enough to judge" {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}
