package claims

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// With nothing measured no rule of H may give a verdict, or a figure.
func TestJudgeHeadersWithoutResults(t *testing.T) { judgeNothing(t, Headers()) }

func judgeNothing(t *testing.T, claims []Claim) {
	t.Helper()
	for _, c := range claims {
		m := in("d", "ext4")
		m.place.Environment.Device = "/dev/sda"
		got := judge(t, &c, m)
		expect(t, "nothing", got, CannotTest)
		if strings.ContainsAny(got.Measured, "0123456789") {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}

// In memory no sync does anything, whatever the figures look like.
func TestSyncsAreNotTestedInMemory(t *testing.T) {
	for _, c := range []Claim{claimH1(), claimH2(), claimH5(), claimH7()} {
		m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		m.tails(func(*run.Result, *run.VariantResult) float64 { return 1000 })
		expect(t, c.ID+" on tmpfs", judge(t, &c, m), CannotTest)
	}
	if lack := onDisk(run.Environment{FS: "ext4", BackingFS: "tmpfs"}); !strings.Contains(lack, "memory") {
		t.Errorf("an image in memory lacks %q", lack)
	}
	if lack := onDisk(run.Environment{FS: "ext4", BackingFS: "xfs"}); lack != "" {
		t.Errorf("an image on a disk lacks %q", lack)
	}
}

func TestJudgeH1(t *testing.T) {
	c := claimH1()
	of := func(factor func(v string, grow bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			return 1e5 / factor(v, strings.Contains(e.Name, "grow"))
		})
		m.tails(func(r *run.Result, v *run.VariantResult) float64 {
			return 1e6 / factor(v.Name, strings.Contains(r.Name, "grow"))
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["gc_pause_ns"] = suitetest.About(1e6 / factor(v.Name, false))
		}))
	}
	times := func(x float64) func(string, bool) float64 {
		return func(v string, _ bool) float64 {
			if v == h1Plain {
				return 1
			}
			return x
		}
	}
	expect(t, "all twenty times", of(times(20)), Holds)
	expect(t, "all alike", of(times(1)), DoesNotHold)
	expect(t, "only where files are fresh", of(func(v string, grow bool) float64 {
		if v == h1Plain || grow {
			return 1
		}
		return 20
	}), Depends)

	// So few files with fsync that nothing was collected are no saving.
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e5 })
	m.tails(func(*run.Result, *run.VariantResult) float64 { return 1e6 })
	m.each(func(r *run.Result, v *run.VariantResult) {
		v.Metrics["gc_pause_ns"] = suitetest.About(1e6)
		if v.Name == h1Fsync {
			v.Metrics["gc_pause_ns"] = suitetest.About(0)
			r.Blocks[0].Ops = 100
		}
	})
	few := judge(t, &c, m)
	expect(t, "no collection in few files", few, DoesNotHold)
	if !strings.Contains(few.Measured, "no collection in as few as 100") {
		t.Errorf("not told: %s", few.Measured)
	}

	// No p99 with an interval, no verdict.
	m = in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["gc_pause_ns"] = suitetest.About(1e6) })
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "p99") {
		t.Errorf("no p99: %s: %s", got.Verdict, got.Why)
	}

	m = in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.results = m.results[:3]
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "H1-grow-fsync") {
		t.Errorf("a result less: %s: %s", got.Verdict, got.Why)
	}
}

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
	expect(t, "two as claimed", judge(t, &c, at("n", nvme, 10e3), at("d", disk, 10e3*14900/137)), Holds)
	expect(t, "alike", judge(t, &c, at("n", nvme, 1e6), at("d", disk, 1e6)), DoesNotHold)
	expect(t, "one of three", judge(t, &c, at("n", nvme, 137e3), at("s", ssd, 486e3), at("d", disk, 1e6)), Depends)
	expect(t, "one kind", judge(t, &c, at("n", nvme, 137e3)), CannotTest)
	got := judge(t, &c, at("n", nvme, 137e3), at("v", guest, 14.9e6))
	expect(t, "a guest", got, CannotTest)
	if !strings.Contains(got.Measured, "virtual machine") || !strings.Contains(got.Why, kindDisk) {
		t.Errorf("not told: %s: %s", got.Measured, got.Why)
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

func TestJudgeH3(t *testing.T) {
	c := claimH3()
	of := func(bytes, collections func(made bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1e4), suitetest.About(1000)
			if v.Name == fromPool {
				made := r.Name == "H3-made"
				v.Metrics["alloc_bytes_per_op"] = suitetest.About(1e4 / bytes(made))
				v.Metrics["gc_count"] = suitetest.About(1000 / collections(made))
			}
		}))
	}
	few := func() run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1e4), suitetest.About(40)
			if v.Name == fromPool {
				v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1), suitetest.About(0)
			}
		}))
	}
	is := func(x float64) func(bool) float64 { return func(bool) float64 { return x } }
	expect(t, "as claimed", of(is(18), is(48)), Holds)
	expect(t, "no collection at all", of(is(18), is(math.Inf(1))), Holds)
	expect(t, "no collection in so little that A has but forty", few(), CannotTest)
	expect(t, "alike", of(is(1), is(1)), DoesNotHold)
	expect(t, "bytes only", of(is(18), is(2)), Depends)
	expect(t, "on the limit", of(is(16), is(48)), CannotTest)
}

func TestJudgeH4(t *testing.T) {
	c := claimH4()
	of := func(power float64, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, _ string) float64 {
			for _, s := range h4Sizes {
				if s.name == e.Params["payload"] {
					return 230 * math.Pow(float64(s.bytes)/1024, power)
				}
			}
			return math.NaN()
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, spread) }))
	}
	expect(t, "as claimed", of(0.6, 0.01), Holds)
	expect(t, "linear", of(1, 0.01), DoesNotHold)
	expect(t, "more than linear", of(1.3, 0.01), DoesNotHold)
	expect(t, "wide", of(0.9, 0.5), CannotTest)
	expect(t, "the first step only", of(0.9, 0.01), Depends) // 10^0.9 is 0.79 of 10
}

func TestJudgeH5(t *testing.T) {
	c := claimH5()
	of := func(over map[string]float64, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if e.Name == "H5-overwrite" {
				return over[v]
			}
			return map[string]float64{h5OSync: 400, h5ODSync: 200, h5Batched: 100}[v]
		})
		for _, r := range m.results {
			for i := range r.Comparisons {
				r.Comparisons[i].Ratio = suitetest.Wide(r.Comparisons[i].Ratio.Median, spread)
			}
		}
		return judge(t, &c, m)
	}
	falling := map[string]float64{h5OSync: 400, h5ODSync: 200, h5Batched: 100}
	expect(t, "in that order", of(falling, 0.01), Holds)
	expect(t, "not where it is written over", of(map[string]float64{h5OSync: 1, h5ODSync: 2, h5Batched: 3}, 0.01), Depends)
	expect(t, "wide", of(falling, 0.9), CannotTest)
	none := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
	expect(t, "all alike", judge(t, &c, none), DoesNotHold)
}

func TestJudgeH6(t *testing.T) {
	c := claimH6()
	of := func(speed, allocations float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == madeFresh {
				return 182
			}
			return 182 / speed
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["allocs_per_op"] = suitetest.About(1)
			if v.Name == fromPool {
				v.Metrics["allocs_per_op"] = suitetest.About(allocations)
			}
		}))
	}
	expect(t, "as claimed", of(3.9, 0.002), Holds)
	expect(t, "none at all", of(5, 0), Holds)
	expect(t, "alike", of(1, 1), DoesNotHold)
	expect(t, "allocations only", of(2, 0), Depends)
	expect(t, "on the limit", of(182./47*(1-slack), 0), CannotTest)
}

func TestJudgeH7(t *testing.T) {
	c := claimH7()
	of := func(each float64, commit func(n int64) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			for _, n := range h7Sizes {
				if v == h7Commit(n) {
					return commit(n)
				}
			}
			if v == h7SyncEach {
				return each
			}
			return 100
		}))
	}
	is := func(x float64) func(int64) float64 { return func(int64) float64 { return x } }
	expect(t, "as claimed", of(5000, is(130)), Holds)
	expect(t, "syncs cost nothing, commits much", of(120, is(1000)), DoesNotHold)
	expect(t, "large commits only", of(5000, func(n int64) float64 { return 100 + 1e5/float64(n) }), Depends)
	expect(t, "on the limit", of(5000, is(100*1.1/0.8*(1+slack))), CannotTest)
}

// Each variant of H does its job, with few operations.
func TestHeaderClaimsRun(t *testing.T) {
	runClaims(t, Headers(), 3, func(t *testing.T, e *lab.Experiment, dir string, _ run.Block) {
		name, want := "", int64(0)
		switch e.Name {
		case "H1-fresh", "H1-fresh-fsync":
			name, want = "f2", headerLen
		case "H1-grow", "H1-grow-fsync":
			name, want = "f0", 3*headerLen
		case "H2":
			name, want = "log", 3*64
		case "H5-append":
			name, want = "data", 3*h5Batch
		case "H5-overwrite":
			name, want = "data", h5File
		case "H7-commit", "H7-each":
			name, want = "log", 3*headerLen
		default:
			return
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != want {
			t.Errorf("%s: %s should have %d bytes: %v, %v", e.ID(), name, want, info, err)
		}
	})
}

// runClaims runs each variant of the claims' experiments once in this process.
func runClaims(t *testing.T, claims []Claim, ops int64, check func(*testing.T, *lab.Experiment, string, run.Block)) {
	t.Helper()
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		for _, e := range c.Experiments {
			for i := range e.Variants {
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, ops, 7)
				switch {
				case b.Unsupported:
					t.Logf("%s: not here: %v", e.ID(), err)
				case err != nil:
					t.Errorf("%s: %v", e.ID(), err)
				default:
					check(t, &e, dir, b)
				}
			}
		}
	}
	if now, err := os.Getwd(); err != nil || now != was {
		t.Errorf("the working directory is %s, was %s", now, was)
	}
}
