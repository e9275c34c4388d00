package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/lab"
)

func TestJudgeR6(t *testing.T) {
	c := claimR6()
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
	got := judge(t, &c, m)
	expect(t, "the vendor's limits", got, DoesNotHold)
	for _, want := range []string{"at 3000 IOPS 875 MiB/s, 750 can be bought", "says nothing about a gp3: 250 MiB/s", "until September 2025"} {
		if !strings.Contains(got.Measured, want) {
			t.Errorf("no %q in %s", want, got.Measured)
		}
	}
	// Nothing measured: the arithmetic is the same.
	expect(t, "no results", judge(t, &c, in("d", "ext4")), DoesNotHold)

	// The rule itself, with limits made up.
	rule := func(published ...gp3Limits) (verdict, why string) {
		return verdictOf(judgeR6(&evidence{}, "", published).parts)
	}
	if got, _ := rule(gp3Limits{when: "then", baseMiBps: 125, mostMiBps: 1000, perIOPS: 1}); got != DoesNotHold {
		t.Errorf("1 MiB/s for each IOPS: %s", got)
	}
	was := r6IOPS
	defer func() { r6IOPS = was }()
	r6IOPS = []float64{4000, 16_000}
	if got, why := rule(r6Published[1]); got != Holds {
		t.Errorf("where they agree: %s: %s", got, why)
	}
	if got, why := rule(r6Published[:]...); got != Depends || !strings.Contains(why, "no with limits today") {
		t.Errorf("where only the former ones agree: %s: %s", got, why)
	}
}

// R6 and package pace have the same limits of the vendor.
func TestR6AgreesWithPace(t *testing.T) {
	for _, iops := range r6IOPS {
		most := r6Published[0].most(iops)
		if _, err := pace.GP3(1000, int(iops), int(most)); err != nil {
			t.Error(err)
		}
		if _, err := pace.GP3(1000, int(iops), int(most)+1); err == nil {
			t.Errorf("%v IOPS and %v MiB/s can be bought", iops, most+1)
		}
	}
}
