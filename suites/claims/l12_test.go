package claims

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL12(t *testing.T) {
	c := claimL12(1)
	// The figures of B, C and D are those of A, divided.
	of := func(share, advised, aligned, unsafeMean, unsafeTail float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			set := func(name string, ns float64) { v.Metrics[name] = suitetest.About(ns) }
			set("first_share_of_slowest", share)
			set("advice_ns", 1e6)
			set("gc_count", 0)
			set("first_p99_ns", map[string]float64{l12Plain: 4e5, l12Advised: 4e5 / advised}[v.Name])
			set("access_p99_ns", map[string]float64{l12Plain: 800, l12Aligned: 800 / aligned, l12Unsafe: 800 / unsafeTail}[v.Name])
			set("access_mean_ns", map[string]float64{l12Plain: 400, l12Aligned: 400, l12Unsafe: 400 / unsafeMean}[v.Name])
		}))
	}
	expect(t, "as claimed", of(0.9, 5, 1.2, 1.2, 1), Holds)
	expect(t, "no bounds check in the tail only", of(0.9, 5, 1.2, 1, 1.3), Holds)
	expect(t, "unsafe.Slice gains nothing", of(0.9, 5, 1.2, 1, 1), DoesNotHold)
	expect(t, "not the first touches", of(0.2, 5, 1.2, 1.2, 1), DoesNotHold)
	expect(t, "the advice does not help", of(0.9, 0.9, 1.2, 1.2, 1), DoesNotHold)
	expect(t, "on the limit", of(0.9, 5, 1.05, 1.2, 1), CannotTell)
}

// Entries begin on pages of their own, and stay in the segment.
func TestL12Pick(t *testing.T) {
	const size = 8 * datafile.MiB
	for _, aligned := range []bool{true, false} {
		list := l12Pick(&lab.B{Rand: rand.New(rand.NewPCG(1, 1))}, size, l12Most, aligned)
		var pages []int
		onPages := 0
		for _, e := range list {
			if e.length < l12Least || e.length > l12Most || e.off < 0 || e.off+e.length > size {
				t.Fatalf("entry %+v", e)
			}
			for p := e.off / datafile.PageSize; p <= (e.off+e.length-1)/datafile.PageSize; p++ {
				pages = append(pages, p)
			}
			if e.off%datafile.PageSize == 0 {
				onPages++
			}
		}
		slices.Sort(pages)
		if len(slices.Compact(slices.Clone(pages))) != len(pages) || (onPages == len(list)) != aligned {
			t.Errorf("aligned %v: entries share pages, or %d of %d start on one", aligned, onPages, len(list))
		}
	}
}

// On a cold mapping first touches are slower than second ones.
func TestL12TouchesTwice(t *testing.T) {
	e := l12Cold(Small)
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(l12Plain), t.TempDir(), 1, 7)
	if b.Unsupported {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if share := b.Metrics["first_share_of_slowest"]; !(share > 0 && share <= 1) {
		t.Errorf("%v of the slowest are first touches (%v)", share, b.Missing)
	}
}
