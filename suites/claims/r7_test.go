package claims

import (
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR7(t *testing.T) {
	c := claimR7()
	// A mean of milliseconds, and jitter that is a share of it up to a rate and three times
	// that share above, to within a spread.
	of := func(kind, ms, share float64, from int, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return ms * 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			jitter := share * ms * 1e6
			if suitetest.Int(t, r.Params["hz"]) >= from {
				jitter *= 3
			}
			v.Metrics[r7VolumeType] = exactly(kind)
			v.Latency = []run.Percentile{{P: 50, NS: ms * 1e6, Lo: ms * 1e6, Hi: ms * 1e6}, {P: 99, NS: ms*1e6 + jitter, Lo: ms*1e6 + jitter*(1-spread), Hi: ms*1e6 + jitter*(1+spread)}}
		}))
	}
	got := of(1, 5.2, 3.8/5.2, 100, 0.01)
	expect(t, "PL-X as claimed", got, Holds)
	if !strings.Contains(got.Measured, "jump at 100 a second") || !strings.Contains(got.Why, "PL3") {
		t.Errorf("not mentioned: %s; %s", got.Measured, got.Why)
	}
	expect(t, "PL3 as claimed", of(2, 18.6, 11.4/18.6, 16, 0.01), Holds)
	expect(t, "a jump just below", of(2, 18.6, 11.4/18.6/3, 12, 0.01), Holds)
	expect(t, "even, and no jump", of(1, 5.2, 0.05, 1000, 0.01), DoesNotHold)
	expect(t, "a jump elsewhere, the jitter as claimed", of(1, 5.2, 3.8/5.2, 200, 0.01), DoesNotHold)
	expect(t, "wide", of(1, 5.2, 3.8/5.2, 100, 0.6), CannotTell)
	got = of(0, 5.2, 3.8/5.2, 100, 0.01)
	expect(t, "another volume, whatever its curve", got, CannotTest)
	if !strings.Contains(got.Why, volumeTypeEnv+"=essd-pl3") || !strings.Contains(got.Measured, "100 a second): 5.2 ms +11.4 ms") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}

	// A type is known, but there are too few appends at a rate near the claimed one.
	few := func(hz string) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 5.2e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics[r7VolumeType] = exactly(1)
			v.Latency = []run.Percentile{{P: 50, NS: 5e6, Lo: 5e6, Hi: 5e6}, {P: 99, NS: 9e6, Lo: 9e6, Hi: 9e6}}
			if r.Params["hz"] == hz {
				v.Latency = []run.Percentile{{P: 99, Few: 120}}
			}
		}))
	}
	got = few("80")
	expect(t, "no p99 at the claimed rate", got, CannotTell)
	if !strings.Contains(got.Why, "too few appends for a p99 at 80 a second") {
		t.Errorf("not named: %s", got.Why)
	}
	expect(t, "no p99 below it", few("60"), CannotTell)
	expect(t, "no p99 far from it", few("5"), DoesNotHold)

	m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	expect(t, "in memory", judge(t, &c, m), CannotTest)
}

// An append that is due while another stalls counts its wait.
func TestR7CountsTheWait(t *testing.T) {
	e := r7(200)
	b, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	// Five appends are due within 20 ms, and none begins before it is due.
	if b.Response == 0 || b.Wall < run.Nanos(20*time.Millisecond) {
		t.Errorf("a response time of %v, in %v", time.Duration(b.Response), time.Duration(b.Wall))
	}

	late := lab.Experiment{Suite: "test", Name: "late", Ops: 20, Variants: []lab.Variant{{Name: "v", Promise: powerTorn, Run: inDir(func(b *lab.B) error {
		return appendEvery(b, time.Nanosecond)
	})}}}
	b, err = lab.RunOnce(t.Context(), &late, &late.Variants[0], t.TempDir(), 20, 7)
	if err != nil {
		t.Fatal(err)
	}
	// All are due at once, so that the last one waits for nearly the whole time. Without the
	// waits the latencies would be that time together.
	if b.Response <= b.Wall {
		t.Errorf("all latencies together are %v, in %v", time.Duration(b.Response), time.Duration(b.Wall))
	}
}
