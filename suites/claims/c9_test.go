package claims

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC9(t *testing.T) {
	c := claimC9()
	cpus := 2
	of := func(gain, enqueue float64, over func(rate string, size int) float64) run.Claim {
		m := in("d", "ext4").all(&c, hundred).each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics[answerTime], v.Metrics[overflowShare] = suitetest.About(1000), suitetest.About(0)
			for i, size := range ringSizes {
				if v.Name != nameDrop(size) && v.Name != nameWait(size) {
					continue
				}
				rate, times := 1., 1.
				if i > 0 {
					rate = gain
				}
				if i == 2 {
					times = enqueue
				}
				v.Metrics[servedRate], v.Metrics[overflowShare] = suitetest.About(200_000*rate), suitetest.About(over(r.Params["rate"], size))
				v.Metrics[enqueueTime], v.Metrics[callbackTime] = suitetest.About(20_000*times), suitetest.About(20_000*times)
			}
			if v.Name == variantOneByOne {
				v.Metrics[servedRate], v.Metrics[callbackTime] = suitetest.About(100_000), suitetest.About(900)
			}
		})
		return judge(t, &c, m.cpus(cpus))
	}
	small := func(_ string, size int) float64 { return map[int]float64{512: 0.0002}[size] }
	expect(t, "as claimed", of(1.15, 1.85, small), Holds)
	expect(t, "no gain", of(1, 1.85, small), DoesNotHold)
	expect(t, "no slower", of(1.15, 1, small), DoesNotHold)
	expect(t, "all overflow", of(1.15, 1.85, func(string, int) float64 { return 0.3 }), DoesNotHold)
	expect(t, "none overflows where less is asked", of(1.15, 1.85, func(rate string, size int) float64 {
		if rate == "50" {
			return 0
		}
		return small(rate, size)
	}), Depends)
	expect(t, "on the limit", of(1.05, 1.85, small), CannotTell)
	cpus = 1
	expect(t, "one processor", of(1.15, 1.85, small), CannotTest)

	// Overflow that some blocks have and others have not decides nothing.
	now := run.Estimate{Median: 0.001, Lo: 0, Hi: 0.01, N: 10}
	none, always := run.Estimate{N: 10}, run.Estimate{Median: 0.3, Lo: 0.2, Hi: 0.4, N: 10}
	for _, o := range []struct {
		a, b, c run.Estimate
		want    answer
	}{{always, none, none, yes}, {always, always, none, no}, {none, none, none, no}, {always, now, none, cannotTell}, {now, none, none, cannotTell}, {always, none, now, cannotTell}} {
		if p := onlyFirstOverflows(o.a, o.b, o.c); p.answer != o.want {
			t.Errorf("%v, %v, %v: %v, want %v", o.a, o.b, o.c, p.answer, o.want)
		}
	}
}

// A flooded ring overflows, and still makes all files.
func TestRingCountsOverflow(t *testing.T) {
	b, err := lab.RunOnce(t.Context(), &lab.Experiment{Suite: "claims", Name: "C9-flood"}, &lab.Variant{
		Name: "small", Run: func(b *lab.B) error { return ring(b, 4, floodGoroutines, false) },
	}, t.TempDir(), 2000, 7)
	if err != nil {
		t.Fatal(err)
	}
	if b.Metrics[overflowShare] == 0 {
		t.Error("16 goroutines that do not wait never found a ring of 4 full")
	}
}

// The report's ring keeps the order, refuses a request when it is full, and creates all
// that it took.
func TestCreateRing(t *testing.T) {
	t.Chdir(t.TempDir())
	var dues []time.Duration
	r := newCreateRing(4, time.Now(), func(due, _ time.Duration) { dues = append(dues, due) })
	for i := range 5 {
		if ok := r.push("f"+strconv.Itoa(i), 0o644, c9Flags, time.Duration(i)); ok != (i < 4) {
			t.Errorf("request %d was taken: %v", i, ok)
		}
	}
	go r.consume()
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if len(dues) != 4 || !slices.IsSorted(dues) {
		t.Errorf("answered in the order %v", dues)
	}
	for i := range 4 {
		if _, err := os.Stat("f" + strconv.Itoa(i)); err != nil {
			t.Error(err)
		}
	}
}
