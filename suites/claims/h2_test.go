package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeH2(t *testing.T) {
	c := claimH2()
	at := func(name string, e run.Environment, p99 float64) *made {
		m := in(name, "ext4").all(&c, func(*lab.Experiment, string) float64 { return p99 / 10 })
		m.tails(func(*run.Result, *run.VariantResult) float64 { return p99 })
		m.place.Environment = e
		return m
	}
	nvme := run.Environment{Device: "/dev/nvme0n1p2", Rotational: "no"}
	disk := run.Environment{Device: "/dev/sda1", Rotational: "yes"}
	ssd := run.Environment{Device: "/dev/sdb", Rotational: "no", Virtual: "container (docker)"}
	guest := run.Environment{Device: "/dev/vda", Rotational: "no", Virtual: "virtual machine (KVM)"}

	expect(t, "as claimed", judge(t, &c, at("n", nvme, 137e3), at("s", ssd, 486e3), at("d", disk, 14.9e6)), Holds)
	got := judge(t, &c, at("n", nvme, 10e3), at("d", disk, 10e3*14900/137))
	expect(t, "two as claimed", got, Holds)
	if !strings.Contains(got.Why, "one on a SATA SSD") {
		t.Errorf("what was not tested is not named: %s", got.Why)
	}
	expect(t, "more than claimed", judge(t, &c, at("n", nvme, 10e3), at("d", disk, 10e6)), Holds)
	expect(t, "alike", judge(t, &c, at("n", nvme, 1e6), at("d", disk, 1e6)), DoesNotHold)
	expect(t, "one of two", judge(t, &c, at("n", nvme, 137e3), at("s", ssd, 486e3), at("d", disk, 1e6)), DoesNotHold)
	wide := at("d", disk, 0)
	wide.each(func(r *run.Result, v *run.VariantResult) {
		for i := range r.Blocks {
			h := run.NewHistogram()
			for range 300 {
				h.Record(int64(1e6 * (1 + 3*i)))
			}
			r.Blocks[i].Latency = h
		}
	})
	expect(t, "the disk's p99 far apart", judge(t, &c, at("n", nvme, 137e3), wide), CannotTell)
	n, d := at("n", nvme, 137e3), at("d", disk, 0)
	d.each(func(r *run.Result, v *run.VariantResult) {
		r.Blocks, v.Latency = nil, []run.Percentile{{P: 99, Few: 120}}
	})
	got = judge(t, &c, n, d)
	expect(t, "too few appends on the disk", got, CannotTell)
	if !strings.Contains(got.Why, "at least 299 samples") {
		t.Errorf("not named: %s", got.Why)
	}
	expect(t, "one kind", judge(t, &c, at("n", nvme, 137e3)), CannotTest)
	got = judge(t, &c, at("n", nvme, 137e3), at("v", guest, 14.9e6))
	expect(t, "a guest", got, CannotTest)
	if !strings.Contains(got.Measured, "14.") || !strings.Contains(got.Why, "virtual machine") || !strings.Contains(got.Why, kindDisk) {
		t.Errorf("not mentioned: %s: %s", got.Measured, got.Why)
	}
}

func TestDeviceKind(t *testing.T) {
	for _, c := range []struct {
		e    run.Environment
		want string
	}{
		{run.Environment{Device: "/dev/nvme1n1"}, kindNVMe},
		{run.Environment{Device: "/dev/sda", Rotational: "no"}, kindSATA},
		{run.Environment{Device: "/dev/sda", Rotational: "yes"}, kindDisk},
		{run.Environment{Device: "/dev/sda"}, ""},
		{run.Environment{Device: "/dev/nvme0n1", Virtual: "virtual machine (Amazon EC2)"}, ""},
		{run.Environment{Device: "/dev/loop0", Backing: "/image", BackingFS: "xfs"}, ""},
		{run.Environment{Device: "/dev/dm-0", Rotational: "no"}, ""},
		{run.Environment{Device: "/dev/sda", Rotational: "no", Members: []string{"/dev/sda", "/dev/sdb"}}, ""},
		{run.Environment{}, ""},
	} {
		kind, why := deviceKind(c.e)
		if kind != c.want || (kind == "") != (why != "") {
			t.Errorf("%+v: %q, %q, want %q", c.e, kind, why, c.want)
		}
	}
}
