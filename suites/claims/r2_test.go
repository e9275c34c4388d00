package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeR2(t *testing.T) {
	c := claimR2(1)
	of := func(e run.Environment, gain func(e *lab.Experiment) (small, large float64)) run.Claim {
		m := in("d", "ext4").all(&c, func(x *lab.Experiment, v string) float64 {
			small, large := gain(x)
			return map[string]float64{r2None: 1e7, r2Small: 1e7 / small, r2Large: 1e7 / large}[v]
		})
		m.place.Environment = e
		return judge(t, &c, m)
	}
	is := func(small, large float64) func(*lab.Experiment) (float64, float64) {
		return func(*lab.Experiment) (float64, float64) { return small, large }
	}
	disk := run.Environment{FS: "ext4", Device: "/dev/sda1", Rotational: "yes"}
	nvme := run.Environment{FS: "ext4", Device: "/dev/nvme0n1"}
	guest := run.Environment{FS: "ext4", Device: "/dev/vda", Virtual: "virtual machine (KVM)"}
	nfs := run.Environment{FS: "nfs4"}

	got := of(disk, is(180./110, 192./110))
	expect(t, "a disk as claimed", got, Holds)
	if !strings.Contains(got.Why, "a directory on an NVMe SSD") {
		t.Errorf("the other media are not named: %s", got.Why)
	}
	expect(t, "a disk like an NVMe", of(disk, is(0.9, 0.92)), DoesNotHold)
	expect(t, "an NVMe as claimed", of(nvme, is(0.9, 0.92)), Holds)
	expect(t, "an NVMe that a buffer speeds up", of(nvme, is(3, 5)), DoesNotHold)
	expect(t, "the network as claimed", of(nfs, is(1.08, 1.13)), Holds)
	got = of(disk, func(e *lab.Experiment) (float64, float64) {
		if e.Params["read"] == "512" {
			return 180. / 110, 192. / 110
		}
		return 1, 1
	})
	expect(t, "small reads only", got, Depends)
	if !strings.Contains(got.Why, "reads of 4 KiB") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	got = of(guest, is(180./110, 192./110))
	expect(t, "a disk of a guest that is like a disk", got, CannotTest)
	if !strings.Contains(got.Why, "virtual machine") || !strings.Contains(got.Measured, "1.64x") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.place.Environment = disk
	for _, r := range m.results {
		for i := range r.Comparisons {
			r.Comparisons[i].Ratio.Lo, r.Comparisons[i].Ratio.Hi = 0.01, 100
		}
	}
	expect(t, "wide", judge(t, &c, m), CannotTell)
}

func TestMediumOf(t *testing.T) {
	for _, c := range []struct {
		e    run.Environment
		want string
	}{
		{run.Environment{Device: "/dev/nvme0n1"}, kindNVMe},
		{run.Environment{Device: "/dev/sda", Rotational: "yes"}, kindDisk},
		{run.Environment{FS: "cifs"}, kindNetwork},
		{run.Environment{Device: "/dev/sda", Rotational: "no"}, kindSATA}, // which the claim does not have
		{run.Environment{Device: "/dev/loop0", Backing: "/image"}, ""},
	} {
		if kind, why := mediumOf(c.e); kind != c.want || (kind == "") != (why != "") {
			t.Errorf("%+v: %q, %q, want %q", c.e, kind, why, c.want)
		}
	}
}
