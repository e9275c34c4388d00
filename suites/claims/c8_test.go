package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC8(t *testing.T) {
	c := claimC8()
	of := func(device string, unnamedKept, memory float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		m.place.Environment.Device = device
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			share := 0.0
			switch {
			case v.Name == c8Memory:
				share = memory
			case r.Name == "C8-kept" && v.Name == c8Unnamed:
				share = unnamedKept
			}
			v.Metrics["device_write_bytes_per_op"] = suitetest.About(share * c8Files * c8Bytes)
		}))
	}
	expect(t, "none ever", of("/dev/sda", 0, 0), Holds)
	expect(t, "written back when kept", of("/dev/sda", 1, 0), Depends)
	expect(t, "hardly any", of("/dev/sda", 0.005, 0.001), Holds)
	expect(t, "in memory", of("", 0, 0), CannotTest)
	all := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 }).each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics["device_write_bytes_per_op"] = suitetest.About(c8Files * c8Bytes)
	})
	all.place.Environment.Device = "/dev/sda"
	expect(t, "all of it", judge(t, &c, all), DoesNotHold)
}
