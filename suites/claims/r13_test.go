package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR13(t *testing.T) {
	c := claimR13()
	// How many times as long, and as much CPU time, a polled read takes.
	of := func(latency, cpu func(v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e4 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["request_mean_ns"], v.Metrics["cpu_user_ns_per_op"], v.Metrics["cpu_sys_ns_per_op"] = suitetest.About(1e5), suitetest.About(1e3), suitetest.About(1e3)
			if strings.HasPrefix(v.Name, "IOPOLL") {
				v.Metrics["request_mean_ns"] = suitetest.About(1e5 * latency(v.Name))
				v.Metrics["cpu_sys_ns_per_op"] = suitetest.About(1e3 * cpu(v.Name))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	got := of(is(0.7), is(3))
	expect(t, "as claimed", got, Holds)
	if !strings.Contains(got.Measured, "at 4 of 4 numbers of threads where the flow chart polls, at 4 of 4 where the comment does") {
		t.Errorf("which rule fits is not shown: %s", got.Measured)
	}
	expect(t, "slower", of(is(1.3), is(3)), DoesNotHold)
	expect(t, "no more CPU", of(is(0.7), is(1)), DoesNotHold)
	expect(t, "only the claim's side counts", of(func(v string) float64 {
		if v == r13Name(true, 16, 1) {
			return 2
		}
		return 0.7
	}, is(3)), Holds)
	got = of(func(v string) float64 {
		if v == r13Name(true, 32, 4) {
			return 2
		}
		return 0.7
	}, is(3))
	expect(t, "too many threads", got, Depends)
	if !strings.Contains(got.Why, "no with 32 threads, depth 128") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(is(1/differs), is(3)), CannotTell)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e4 })
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics["request_mean_ns"], v.Metrics["cpu_user_ns_per_op"], v.Metrics["cpu_sys_ns_per_op"] = suitetest.About(1e5), suitetest.About(1e3), suitetest.About(1e3)
		if strings.HasPrefix(v.Name, "IOPOLL") {
			v.Error = "the device has no queues for polling"
		}
	})
	got = judge(t, &c, m)
	expect(t, "no queues for polling", got, CannotTest)
	if !strings.Contains(got.Why, "no queues for polling") || !strings.Contains(got.Measured, "by interrupts (1 threads, depth 4): 100.0 us a read") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}
}
