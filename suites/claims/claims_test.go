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

	m := in("d", "ext4").all(&c, twice)
	m.results = m.results[1:]
	got := judge(t, &c, m)
	expect(t, "a result less", got, CannotTest)
	if !strings.Contains(got.Why, "claims/D1-fresh") || len(got.Results) != len(c.Experiments)-1 {
		t.Errorf("not named: %s; results %q", got.Why, got.Results)
	}

	m = in("d", "ext4").all(&c, twice)
	m.results[0].Variants[1].Error = "no space left on device"
	got = judge(t, &c, m)
	expect(t, "a failed variant", got, CannotTest)
	if !strings.Contains(got.Why, "no space left") {
		t.Errorf("not named: %s", got.Why)
	}

	m = in("d", "ext4").all(&c, twice)
	for _, r := range m.results {
		r.Comparisons[0].Ratio.Lo, r.Comparisons[0].Ratio.Hi = math.NaN(), math.NaN()
	}
	expect(t, "too few blocks for an interval", judge(t, &c, m), CannotTest)
}

// With nothing measured no rule may give a verdict, or a figure.
func TestJudgeWithoutResults(t *testing.T) {
	for _, c := range Directories() {
		got := judge(t, &c, in("d", "ext4"))
		expect(t, "nothing", got, CannotTest)
		if strings.ContainsAny(got.Measured, "0123456789") && c.ID != "D3" {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}

// With nothing measured no rule of H may give a verdict, or a figure.
func TestJudgeHeadersWithoutResults(t *testing.T) { judgeNothing(t, Headers()) }

// With nothing measured no rule of R or L may give a verdict, or a figure.
func TestJudgeReadingWithoutResults(t *testing.T) { judgeNothing(t, Reading(1)) }

func TestJudgeLogsWithoutResults(t *testing.T) { judgeNothing(t, Log(1)) }

func TestJudgeSyncWithoutResults(t *testing.T) {
	judgeNothing(t, []Claim{claimR7(), claimR11(), claimR12()})
}

func TestJudgeStoreWithoutResults(t *testing.T) { judgeNothing(t, Store()) }

// With nothing measured no rule may give a verdict, or a figure.
func TestJudgeCreationWaysWithoutResults(t *testing.T) {
	for _, c := range creationWayClaims() {
		m := in("d", "ext4")
		m.place.Environment.Device = "/dev/sda"
		got := judge(t, &c, m)
		expect(t, "nothing", got, CannotTest)
		if got.Measured != "not enough to judge" {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}

// With nothing measured no rule may give a verdict, or a figure.
func TestCreationCostWithoutResults(t *testing.T) {
	for _, c := range creationCostClaims() {
		got := judge(t, &c, in("d", "ext4"))
		expect(t, "nothing", got, CannotTest)
		if strings.ContainsAny(got.Measured, "0123456789") {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}
