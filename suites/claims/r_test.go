package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// With nothing measured no rule of R or L may give a verdict, or a figure.
func TestJudgeReadingWithoutResults(t *testing.T) { judgeNothing(t, Reading(1)) }

func TestJudgeLogsWithoutResults(t *testing.T) { judgeNothing(t, Log(1)) }

// sized says of every variant how large its file was.
func (m *made) sized(bytes float64) *made {
	return m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["file_bytes"] = suitetest.About(bytes) })
}

func TestJudgeR1(t *testing.T) {
	c := claimR1(1)
	of := func(bufio, large, touched4, touched float64, size float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			r1Whole: 5e6, r1Bufio: 5e6 / bufio, r1Large: 5e6 / large,
			r1Touch4: 5e6 / bufio / touched4, r1Touch: 5e6 / bufio / touched,
		}))
		return judge(t, &c, m.sized(size))
	}
	expect(t, "as claimed", of(4.3, 4.3, 2, 2, r1Mapping), Holds)
	expect(t, "all alike", of(1, 1, 1, 1, r1Mapping), DoesNotHold)
	expect(t, "only what is not looked at", of(4.3, 4.3, 50, 0.5, r1Mapping), Depends)
	expect(t, "on the limit", of(850./200*(1-slack), 5, 2, 2, r1Mapping), CannotTest)
	if got := of(4.3, 4.3, 2, 2, 1<<28); !strings.Contains(got.Why, "268 MB, not the published 1.07 GB") {
		t.Errorf("a smaller file is not told: %s", got.Why)
	}
	if got := of(4.3, 4.3, 2, 2, r1Mapping); strings.Contains(got.Why, "not the published") {
		t.Errorf("a file of full size is called smaller: %s", got.Why)
	}
}

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
		t.Errorf("not told: %s", got.Why)
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

func TestJudgeR3(t *testing.T) {
	c := claimR3()
	of := func(buffers, all func(held bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			n, held := float64(suitetest.Int(t, r.Params["reads"])), r.Name == "R3-held"
			v.Metrics[r3Made], v.Metrics["allocs_per_op"] = suitetest.About(n), suitetest.About(4*n)
			if v.Name == fromPool {
				v.Metrics[r3Made], v.Metrics["allocs_per_op"] = suitetest.About(n/buffers(held)), suitetest.About(4*n/all(held))
			}
		}))
	}
	is := func(x float64) func(bool) float64 { return func(bool) float64 { return x } }
	expect(t, "as claimed", of(is(13), is(13)), Holds)
	expect(t, "no buffer at all", of(is(math.Inf(1)), is(13)), Holds)
	expect(t, "none saved", of(is(1), is(1)), DoesNotHold)
	expect(t, "buffers only", of(is(13), is(1.3)), Depends)
	expect(t, "not when all are in flight", of(func(held bool) float64 {
		if held {
			return 2
		}
		return 100
	}, is(13)), Depends)
	expect(t, "on the limit", of(is(492./41*(1-slack)), is(13)), CannotTest)
}

func TestJudgeR4(t *testing.T) {
	c := claimR4(1)
	of := func(coded, both float64) run.Claim {
		times := map[string]float64{r4Read: 1e4, r4Map4: 1e4 / coded, r4ReadTouch: 1e4, r4Map: 1e4 / both}
		m := in("d", "ext4").all(&c, byVariant(times))
		return judge(t, &c, m.sized(r4File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["read_mean_ns"], v.Metrics["read_p99_ns"] = suitetest.About(times[v.Name]), suitetest.About(9*times[v.Name])
		}))
	}
	expect(t, "as claimed", of(7, 7), Holds)
	expect(t, "neither", of(1.5, 1.2), DoesNotHold)
	expect(t, "as coded only", of(10, 1.5), Depends)
	expect(t, "on the limit", of(89.3/14.6*(1-slack), 7), CannotTest)
}

func TestJudgeR5(t *testing.T) {
	c := claimR5()
	of := func(open, fresh float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			r5Older: 1e4, "R5-open/" + r5Newer: 1e4 / open, "R5-fresh/" + r5Newer: 1e4 / fresh, r5Write: 1e4,
		}))
		m.place.Environment.Go = "go1.99"
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(1.5, 1.5), Holds)
	expect(t, "alike", of(1, 1.01), DoesNotHold)
	expect(t, "a file that stays open only", of(1.5, 1), Depends)
	got := of(420./285*(1-slack), 1.5)
	expect(t, "on the limit", got, CannotTest)
	if !strings.Contains(got.Why, "What is missing is an older Go") || !strings.Contains(got.Why, "go1.99") {
		t.Errorf("what is missing is not told: %s", got.Why)
	}
}

func TestJudgeR8(t *testing.T) {
	c := claimR8()
	made := func(answer func(try r8Try, write bool) float64, cache func(metric string) float64) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		exactly := func(x float64) run.Estimate { return run.Estimate{Median: x, Lo: x, Hi: x, N: 6} }
		return m.each(func(_ *run.Result, v *run.VariantResult) {
			for _, write := range []bool{false, true} {
				for _, try := range r8Tries {
					v.Metrics[try.metric(write)] = exactly(answer(try, write))
				}
			}
			for _, name := range []string{r8ColdRead, r8ColdWrite, r8WarmRead, r8WarmWrite} {
				v.Metrics[name] = exactly(cache(name))
			}
			v.Metrics["dio_mem_align"], v.Metrics["dio_offset_align"] = exactly(512), exactly(4096)
		})
	}
	einval := func(r8Try, bool) float64 { return r8EINVAL }
	accepted := func(r8Try, bool) float64 { return r8Accepted }
	alone := func(string) float64 { return 0 }
	expect(t, "as claimed", judge(t, &c, made(einval, alone)), Holds)
	expect(t, "nothing of it", judge(t, &c, made(accepted, func(string) float64 { return r8File })), DoesNotHold)
	got := judge(t, &c, made(func(try r8Try, _ bool) float64 {
		if try.by == 512 {
			return r8Accepted
		}
		return r8EINVAL
	}, func(metric string) float64 {
		if metric == r8WarmWrite {
			return r8File
		}
		return 0
	}))
	expect(t, "512 is enough, and a write empties the cache", got, Depends)
	for _, want := range []string{"Reads and writes: buffer off by 1: EINVAL, by 4: EINVAL, by 512: taken; length off by 1: EINVAL", "multiples of 512 bytes and offsets and lengths of 4096", "0 B by the read and 1.05 MB by the write"} {
		if !strings.Contains(got.Measured, want) {
			t.Errorf("%q is not told: %s", want, got.Measured)
		}
	}
	reads := judge(t, &c, made(func(_ r8Try, write bool) float64 { return map[bool]float64{true: r8EINVAL}[write] }, alone))
	if !strings.Contains(reads.Measured, "Reads: buffer off by 1: taken") || !strings.Contains(reads.Measured, "Writes: buffer off by 1: EINVAL") {
		t.Errorf("reads and writes are not told apart: %s", reads.Measured)
	}
	other := judge(t, &c, made(func(r8Try, bool) float64 { return r8Other }, alone))
	if other.Verdict != Depends || !strings.Contains(other.Measured, "another error") {
		t.Errorf("another error: %s: %s", other.Verdict, other.Measured)
	}

	// No direct I/O at all.
	m := made(einval, alone)
	m.results[0].Variants[0].Error = "the file system has no O_DIRECT"
	got = judge(t, &c, m)
	expect(t, "no O_DIRECT", got, CannotTest)
	if !strings.Contains(got.Why, "no O_DIRECT") {
		t.Errorf("not told: %s", got.Why)
	}
	// No cachestat: the rest is not a verdict on all of it.
	m = made(einval, alone)
	for _, name := range []string{r8ColdRead, r8ColdWrite, r8WarmRead, r8WarmWrite} {
		delete(m.results[0].Variants[0].Metrics, name)
	}
	expect(t, "no cachestat", judge(t, &c, m), CannotTest)
}
