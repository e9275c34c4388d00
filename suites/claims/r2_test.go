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
	guest := run.Environment{FS: "ext4", Device: "/dev/vda", Virtual: "virtual machine (KVM)"}
	nfs := run.Environment{FS: "nfs4"}

	expect(t, "a disk as claimed", of(disk, is(180./110, 192./110)), Holds)
	expect(t, "a disk like an NVMe", of(disk, is(0.9, 0.92)), DoesNotHold)
	expect(t, "the network as claimed", of(nfs, is(1.08, 1.13)), Holds)
	expect(t, "small pieces only", of(disk, func(e *lab.Experiment) (float64, float64) {
		if e.Params["piece"] == "1KiB" {
			return 180. / 110, 192. / 110
		}
		return 1, 1
	}), Depends)
	got := of(guest, is(180./110, 192./110))
	expect(t, "a disk of a guest that is like a disk", got, Depends)
	if !strings.Contains(got.Why, "virtual machine") || !strings.Contains(got.Why, kindDisk+" in 4 of 4 experiments") {
		t.Errorf("not mentioned: %s", got.Why)
	}
	expect(t, "unlike any row", of(guest, is(6, 9)), DoesNotHold)
	expect(t, "like half a row", of(guest, is(180./110, 9)), DoesNotHold)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.place.Environment = guest
	for _, r := range m.results {
		for i := range r.Comparisons {
			r.Comparisons[i].Ratio.Lo, r.Comparisons[i].Ratio.Hi = 0.01, 100
		}
	}
	expect(t, "wide", judge(t, &c, m), CannotTest)
}

func TestMediumOf(t *testing.T) {
	for _, c := range []struct {
		e    run.Environment
		want string
	}{
		{run.Environment{Device: "/dev/nvme0n1"}, kindNVMe},
		{run.Environment{Device: "/dev/sda", Rotational: "yes"}, kindDisk},
		{run.Environment{FS: "cifs"}, kindNetwork},
		{run.Environment{Device: "/dev/sda", Rotational: "no"}, ""}, // an SSD on SATA has no row
		{run.Environment{Device: "/dev/loop0", Backing: "/image"}, ""},
	} {
		if m, why := mediumOf(c.e); m.kind != c.want || (m.kind == "") != (why != "") {
			t.Errorf("%+v: %q, %q, want %q", c.e, m.kind, why, c.want)
		}
	}
}
