package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR9(t *testing.T) {
	c := claimR9()
	nvme := run.Environment{Device: "/dev/nvme0n1", GOMAXPROCS: 8}
	sata := run.Environment{Device: "/dev/sda", Rotational: "no", GOMAXPROCS: 8}
	guest := run.Environment{Device: "/dev/vda", Virtual: "virtual machine (KVM)", GOMAXPROCS: 2}
	// A rate by threads that grows up to a knee, and CPU time of a read.
	of := func(env run.Environment, cpu float64, knee func(shared int) float64) run.Claim {
		times := map[string]float64{}
		for _, r := range r9Readings {
			for _, threads := range r9Threads {
				times[r9Name(r.shared, threads)] = 1e5 / min(float64(threads), knee(r.shared))
			}
		}
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 { return times[v] })
		m.place.Environment = env
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["cpu_user_ns_per_op"], v.Metrics["cpu_sys_ns_per_op"] = suitetest.About(cpu), suitetest.About(0)
		}))
	}
	at := func(threads float64) func(int) float64 { return func(int) float64 { return threads } }
	expect(t, "NVMe as claimed", of(nvme, 1, at(16)), Holds)
	expect(t, "NVMe, 32 are more", of(nvme, 1, at(32)), DoesNotHold)
	expect(t, "NVMe, 8 are enough", of(nvme, 1, at(4)), DoesNotHold)
	got := of(nvme, 1, func(shared int) float64 {
		if shared == 0 {
			return 16
		}
		return 2
	})
	expect(t, "by the depth of a thread", got, Depends)
	if !strings.Contains(got.Why, "no with as meant: 128 in flight") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "SATA as claimed", of(sata, 1, at(4)), Holds)
	expect(t, "SATA, 8 are more", of(sata, 1, at(32)), DoesNotHold)
	got = of(nvme, 1e6, at(16))
	expect(t, "busy processors", got, CannotTest)
	if !strings.Contains(got.Why, "not saturated") {
		t.Errorf("not named: %s", got.Why)
	}
	got = of(guest, 1, at(16))
	expect(t, "a disk of a guest", got, CannotTest)
	if !strings.Contains(got.Why, "virtual machine") || !strings.Contains(got.Measured, "16: 160000") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}
	expect(t, "nothing", judge(t, &c, in("d", "ext4")), CannotTest)
}

// The variants of R9 are the numbers of threads, and the reads in flight add up.
func TestR9Cells(t *testing.T) {
	e := r9(1)
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, v := range e.Variants {
		count[v.Cell.Surface]++
	}
	if count[r9Readings[0].surface] != 6 || count[r9Readings[1].surface] != 6 || count[r9Readings[2].surface] != 5 {
		t.Errorf("cells: %v", count)
	}
}
