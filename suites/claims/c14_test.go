package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC14(t *testing.T) {
	c := claimC14()
	of := func(named, memory map[string]float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Syscalls = named
			if v.Name == c14Openat2 {
				v.Syscalls = memory
			}
		}))
	}
	three := map[string]float64{"openat2": 1, "fcntl": 1, "close": 1, "futex": 5}
	expect(t, "as claimed", of(map[string]float64{"statx": 3, "openat": 1.002, "fcntl": 2, "close": 1}, three), Holds)
	expect(t, "seven without statx", of(map[string]float64{"openat": 1, "fcntl": 5, "close": 1}, three), Depends)
	expect(t, "other numbers", of(map[string]float64{"openat": 1, "close": 1}, map[string]float64{"openat2": 1, "close": 1}), DoesNotHold)
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Syscalls, v.Missing = nil, map[string]run.Reason{"syscalls": {Code: run.ReasonText, Text: "needs root"}}
	})
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "needs root") {
		t.Errorf("not counted: %s: %s", got.Verdict, got.Why)
	}
}
