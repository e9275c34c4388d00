package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

func TestJudgeR8(t *testing.T) {
	c := claimR8()
	made := func(answer func(try r8Try, write bool) float64, cache func(metric string) float64) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
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
	alone := func(string) float64 { return 0 }
	einval := func(try r8Try, _ bool) float64 {
		if try.by == datafile.PageSize {
			return r8Accepted
		}
		return r8EINVAL
	}
	expect(t, "as claimed", judge(t, &c, made(einval, alone)), Holds)
	got := judge(t, &c, made(func(try r8Try, _ bool) float64 {
		if try.by == 1 {
			return r8EINVAL
		}
		return r8Accepted
	}, alone))
	expect(t, "512 is enough", got, DoesNotHold)
	for _, want := range []string{"buffer is no multiple of 4,096: off by 1: EINVAL, off by 512: taken, off by 4096: taken", "multiples of 512 bytes, offsets and lengths of 4096"} {
		if !strings.Contains(got.Measured, want) {
			t.Errorf("%q is not mentioned: %s", want, got.Measured)
		}
	}
	expect(t, "a read fills the page cache", judge(t, &c, made(einval, func(metric string) float64 {
		return map[string]float64{r8ColdRead: r8File}[metric]
	})), DoesNotHold)
	expect(t, "a write empties it, of which the claim says nothing", judge(t, &c, made(einval, func(metric string) float64 {
		return map[string]float64{r8WarmWrite: r8File}[metric]
	})), Holds)
	expect(t, "another error", judge(t, &c, made(func(try r8Try, write bool) float64 {
		if try.what == "length" && try.by == 1 {
			return r8Other
		}
		return einval(try, write)
	}, alone)), DoesNotHold)
	expect(t, "writes and offsets as they like", judge(t, &c, made(func(try r8Try, write bool) float64 {
		if write || try.what == "offset" {
			return r8Accepted
		}
		return einval(try, write)
	}, alone)), Holds)

	// A fact needs no interval.
	few := func(answer func(try r8Try, write bool) float64) run.Claim {
		return judge(t, &c, made(answer, alone).each(func(_ *run.Result, v *run.VariantResult) {
			for name, e := range v.Metrics {
				e.Lo, e.Hi, e.N = math.NaN(), math.NaN(), 2
				v.Metrics[name] = e
			}
		}))
	}
	expect(t, "as claimed, in two rounds", few(einval), Holds)
	expect(t, "512 is enough, in two rounds", few(func(try r8Try, _ bool) float64 {
		if try.by == 1 {
			return r8EINVAL
		}
		return r8Accepted
	}), DoesNotHold)
	expect(t, "no round", judge(t, &c, made(einval, alone).each(func(_ *run.Result, v *run.VariantResult) {
		v.Time, v.Metrics = noEstimate, nil
	})), CannotTell)

	// No direct I/O at all.
	m := made(einval, alone)
	m.results[0].Variants[0].Error = "the file system has no O_DIRECT"
	got = judge(t, &c, m)
	expect(t, "no O_DIRECT", got, CannotTest)
	if !strings.Contains(got.Why, "no O_DIRECT") {
		t.Errorf("not mentioned: %s", got.Why)
	}
	// Without cachestat the other figures still count.
	m = made(einval, alone)
	for _, name := range []string{r8ColdRead, r8ColdWrite, r8WarmRead, r8WarmWrite} {
		delete(m.results[0].Variants[0].Metrics, name)
	}
	expect(t, "no cachestat", judge(t, &c, m), Holds)
}
