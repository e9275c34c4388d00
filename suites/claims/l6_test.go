package claims

import (
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL6(t *testing.T) {
	c := claimL6(1)
	// quicker and fewer are what ten processes gain over one.
	of := func(quicker, missesOfOne func(r *run.Result) float64) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e9 })
		m.place.Environment.Device = "/dev/sda"
		return m.sized(l6File).each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["read_mean_ns"], v.Metrics["hit_share"], v.Metrics["cached_share"] = suitetest.About(14200), suitetest.Wide(0.92, 0.001), suitetest.About(0.9)
			if v.Name != l6Shared {
				v.Metrics["read_mean_ns"], v.Metrics["hit_share"] = suitetest.About(14200*quicker(r)), suitetest.Wide(1-missesOfOne(r), 0.001)
			}
		})
	}
	is := func(x float64) func(*run.Result) float64 { return func(*run.Result) float64 { return x } }
	fast := func(yes, no float64) func(*run.Result) float64 {
		return func(r *run.Result) float64 {
			if r.Params["rate"] == "10000" {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", judge(t, &c, of(is(1.4), is(0.15))), Holds)
	expect(t, "no better", judge(t, &c, of(is(0.8), is(0.08))), DoesNotHold)
	expect(t, "quicker only", judge(t, &c, of(is(1.5), is(0.08))), DoesNotHold)
	expect(t, "at a high rate only", judge(t, &c, of(fast(1.5, 1), fast(0.15, 0.08))), Depends)
	expect(t, "on the limit", judge(t, &c, of(is(18.9/14.2*(1-slack)), is(0.15))), CannotTell)

	m := of(is(1.4), is(0.15)).each(func(_ *run.Result, v *run.VariantResult) { v.Error = "no control group" })
	got := judge(t, &c, m)
	expect(t, "without a limit of memory", got, CannotTest)
	if !strings.Contains(got.Why, "No control group") {
		t.Errorf("the reason is %q", got.Why)
	}
	m = of(is(1.4), is(0.15)).each(func(_ *run.Result, v *run.VariantResult) {
		delete(v.Metrics, "hit_share")
		v.Missing = map[string]run.Reason{"hit_share": {Code: run.ReasonText, Text: "no cachestat"}}
	})
	got = judge(t, &c, m)
	expect(t, "without a counter of hits", got, Holds)
	if !strings.Contains(got.Why, "no cachestat") {
		t.Errorf("the missing counter is not mentioned: %s", got.Why)
	}
}

// If a child cannot read, the error says why, and no process waits for ever.
func TestL6ReportsAChildThatFails(t *testing.T) {
	e := l6(Small, l6Loads[0])
	v := lab.Variant{Name: l6Shared, Run: func(b *lab.B) error {
		f, err := datafile.Open(b, "noise", Small.Of(l6File), datafile.Noise())
		if err != nil {
			return err
		}
		defer f.Close()
		c, err := l6Way{l6Shared, 10, 1}.start(b, &e, f, "/no/such/group", 100)
		if err == nil {
			err = c.await()
		}
		_, ended := c.end()
		return errors.Join(ended, err)
	}}
	_, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7)
	if err == nil || !strings.Contains(err.Error(), "/no/such/group") {
		t.Errorf("got %v, want the error of the child", err)
	}
}

// Where the page cache may keep a half of the file, about a half of the reads hit, whether
// one process reads or ten do.
func TestL6LimitsThePageCache(t *testing.T) {
	e := l6(10, l6Loads[len(l6Loads)-1])
	for _, name := range []string{l6One, l6Shared} {
		b, why := suitetest.RunOnce(t, &e, e.Variant(name), t.TempDir(), 1)
		if b == nil {
			t.Skip(why)
		}
		if cached := b.Metrics["cached_share"]; cached < 0.25 || cached > 0.6 {
			t.Errorf("%s: %v of the file is in the page cache, want about a half", name, cached)
		}
		if hits, ok := b.Metrics["hit_share"]; ok && (hits < 0.25 || hits > 0.75) {
			t.Errorf("%s: %v of the reads hit, want about a half", name, hits)
		}
	}
}
