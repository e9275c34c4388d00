package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC14(t *testing.T) {
	c := claimC14()
	of := func(named, coded, openat2 func(name string) map[string]float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Syscalls = map[string]func(string) map[string]float64{c8Named: named, c14Coded: coded, c14Openat2: openat2}[v.Name](r.Name)
		}))
	}
	is := func(m map[string]float64) func(string) map[string]float64 {
		return func(string) map[string]float64 { return m }
	}
	three := is(map[string]float64{"openat2": 1, "fcntl": 1, "close": 1, "futex": 5})
	seven := is(map[string]float64{"statx": 3, "openat": 1.002, "getdents64": 1, "fcntl": 1, "close": 1})
	two := is(map[string]float64{"openat": 1, "close": 1})
	expect(t, "as claimed", of(seven, three, three), Holds)
	expect(t, "seven without statx", of(is(map[string]float64{"openat": 1, "getdents64": 1, "fcntl": 4, "close": 1}), three, three), DoesNotHold)
	expect(t, "other numbers", of(two, two, two), DoesNotHold)
	expect(t, "by the code", of(seven, three, two), Depends)
	expect(t, "the first file only", of(func(name string) map[string]float64 {
		if name == "C14-first" {
			return seven(name)
		}
		return two(name)
	}, three, three), Depends)
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Syscalls, v.Missing = nil, map[string]run.Reason{"syscalls": {Code: run.ReasonText, Text: "needs root"}}
	})
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "needs root") {
		t.Errorf("not counted: %s: %s", got.Verdict, got.Why)
	}
}
