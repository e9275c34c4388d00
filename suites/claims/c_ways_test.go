package claims

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

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

func TestJudgeC6(t *testing.T) {
	c := claimC6()
	of := func(mean, tail func(init, since string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			for _, since := range []string{"call", "released"} {
				v.Metrics[since+"_mean_ns"], v.Metrics[since+"_p99_ns"] = suitetest.About(8200), suitetest.About(9000)
				if v.Name == c6AtOnce {
					v.Metrics[since+"_mean_ns"] = suitetest.About(8200 * mean(r.Params["init"], since))
					v.Metrics[since+"_p99_ns"] = suitetest.About(8200 * tail(r.Params["init"], since))
				}
			}
		}))
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	expect(t, "as claimed", of(is(18), is(52)), Holds)
	expect(t, "cheap", of(is(0.5), is(3)), DoesNotHold)
	expect(t, "files only", of(func(init, _ string) float64 {
		if init == initFile {
			return 18
		}
		return 1
	}, is(52)), Depends)
	expect(t, "on the limit", of(is(147.6/8.2*(1-slack)), is(52)), CannotTest)
}

func TestJudgeC7(t *testing.T) {
	c := claimC7()
	of := func(unpaced, paced, failA, failB float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == c7DupPool {
				return 1000 / unpaced
			}
			return 1000
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["connection_mean_ns"], v.Metrics["failures_share"] = suitetest.About(4000), suitetest.About(failA)
			if v.Name == c7DupPool {
				v.Metrics["connection_mean_ns"], v.Metrics["failures_share"] = suitetest.About(4000/paced), suitetest.About(failB)
			}
		}))
	}
	expect(t, "as claimed", of(2.2, 2.2, 0.008, 0), Holds)
	expect(t, "alike, and B fails", of(1, 1, 0, 0.01), DoesNotHold)
	expect(t, "faster, and none fails", of(4, 4, 0, 0), Depends)
	expect(t, "on the limit", of(42./19*(1-slack), 2.2, 0.008, 0), CannotTest)
}

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

func TestJudgeC11(t *testing.T) {
	c := claimC11()
	of := func(emfile, raised, hard float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			for name, x := range map[string]float64{
				"refused_with_emfile": emfile, "opened_at_soft_limit": 250, "opened_when_raised": raised,
				"hard_limit": hard, "file_max": 1 << 20,
			} {
				v.Metrics[name] = run.Estimate{Median: x, Lo: x, Hi: x, N: 6}
			}
		}))
	}
	expect(t, "as claimed", of(1, 1000, 1024), Holds)
	expect(t, "a high hard limit", of(1, 1000, 1<<20), Depends)
	expect(t, "nothing of it", of(0, 250, 1<<20), DoesNotHold)
}

func TestJudgeC12(t *testing.T) {
	c := claimC12()
	of := func(reused, newStack, newBoth, allNew, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		start := map[string]float64{c12Reused: reused, c12NewStack: newStack, c12NewBoth: newBoth, c12AllNew: allNew}
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["start_ns"] = suitetest.Wide(start[v.Name], spread)
		}))
	}
	expect(t, "as claimed", of(80, 200, 240, 240, 0.001), Holds)
	expect(t, "another split", of(200, 210, 300, 300, 0.001), DoesNotHold)
	expect(t, "as claimed with the stack at hand", of(80, 200, 240, 2000, 0.001), Depends)
	expect(t, "wide", of(80, 200, 240, 240, 0.3), CannotTest)
}

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
		v.Syscalls, v.Missing = nil, map[string]string{"syscalls": "needs root"}
	})
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "needs root") {
		t.Errorf("not counted: %s: %s", got.Verdict, got.Why)
	}
}

// Each variant does its job, with few operations, and says what it found.
func TestCreationWayClaimsRun(t *testing.T) {
	limit, _, limitErr := sys.FileLimits()
	runClaims(t, creationWayClaims(), 3, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		positive := map[string][]string{
			"C6":       {"call_mean_ns", "call_p99_ns", "released_mean_ns", "released_p99_ns"},
			"C7-paced": {"connection_mean_ns", "connection_p99_ns"},
			"C11":      {"opened_at_soft_limit", "opened_when_raised", "hard_limit"},
			"C12":      {"start_ns"},
		}
		for _, name := range positive[e.Name] {
			if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%s: %s is %v", b.Variant, name, x)
			}
		}
		switch e.Name {
		case "C6":
			if files, err := os.ReadDir(dir); err != nil || e.Params["init"] == initFile && len(files) != 3 {
				t.Errorf("%s: %d files were made, want one a Once (%v)", b.Variant, len(files), err)
			}
		case "C7-paced":
			if x := b.Metrics["failures_share"]; x != 0 {
				t.Errorf("%s: %v of the connections failed", b.Variant, x)
			}
		case "C8-short", "C8-kept":
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s left %v (%v)", b.Variant, left, err)
			}
		case "C11":
			// A collection may close files that earlier tests left to it, between
			// the two counts.
			for try := 0; ; try++ {
				soft, raised := b.Metrics["opened_at_soft_limit"], b.Metrics["opened_when_raised"]
				if b.Metrics["refused_with_emfile"] == 1 && soft < c11Soft && raised-soft == c11Raised-c11Soft {
					break
				}
				if try == 5 {
					t.Errorf("opened %v and %v, refused %v", soft, raised, b.Metrics["refused_with_emfile"])
					break
				}
				var err error
				if b, err = lab.RunOnce(t.Context(), e, e.Variant(c11Variant), dir, 1, 7); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if limitErr == nil {
		if now, _, err := sys.FileLimits(); err != nil || now != limit {
			t.Errorf("the limit on descriptors is %d, was %d (%v)", now, limit, err)
		}
	}
	if left, err := os.ReadDir(c14Memory); err == nil {
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "stele-c14-") {
				t.Errorf("%s was left in %s", e.Name(), c14Memory)
			}
		}
	}
}

// A pool hands a descriptor to one at a time, and what it hands out reads the
// file.
func TestDupPool(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("data", []byte("d"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := dupPool(2)()
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.get()
	if err != nil {
		t.Skipf("dup3: %v", err)
	}
	b, err := d.get()
	if err != nil || a.Fd() == b.Fd() {
		t.Errorf("two users got %v and %v, %v", a, b, err)
	}
	var one [1]byte
	if _, err := b.ReadAt(one[:], 0); err != nil || one[0] != 'd' {
		t.Errorf("reads %q, %v", one, err)
	}
	if _, err := d.get(); err == nil {
		t.Error("an empty pool gave a descriptor")
	}
	if err := d.put(a); err != nil {
		t.Error(err)
	}
	if c, err := d.get(); err != nil || c != a {
		t.Errorf("after giving back: %v, %v", c, err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

// A descriptor that cannot be had for the limit is a failure of a connection,
// anything else one of the block.
func TestOpenUntilRefusedTellsOtherErrors(t *testing.T) {
	if _, refused, err := openUntilRefused(t.TempDir() + "/missing"); err == nil || refused {
		t.Errorf("a missing file: refused %v, %v", refused, err)
	}
}
