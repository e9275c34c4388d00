package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

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
	expect(t, "none of the figures", judge(t, &c, made(accepted, func(string) float64 { return r8File })), DoesNotHold)
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
			t.Errorf("%q is not mentioned: %s", want, got.Measured)
		}
	}
	reads := judge(t, &c, made(func(_ r8Try, write bool) float64 { return map[bool]float64{true: r8EINVAL}[write] }, alone))
	if !strings.Contains(reads.Measured, "Reads: buffer off by 1: taken") || !strings.Contains(reads.Measured, "Writes: buffer off by 1: EINVAL") {
		t.Errorf("reads and writes are not distinguished: %s", reads.Measured)
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
		t.Errorf("not mentioned: %s", got.Why)
	}
	// Without cachestat the other figures give no verdict.
	m = made(einval, alone)
	for _, name := range []string{r8ColdRead, r8ColdWrite, r8WarmRead, r8WarmWrite} {
		delete(m.results[0].Variants[0].Metrics, name)
	}
	expect(t, "no cachestat", judge(t, &c, m), CannotTest)
}
