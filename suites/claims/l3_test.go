package claims

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL3(t *testing.T) {
	c := claimL3()
	with := func(processors int, mean, rate func(v string) float64, collections func(r *run.Result, v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 { return 1e5 / rate(v) })
		m.place.Environment.GOMAXPROCS = processors
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["line_mean_ns"], v.Metrics["gc_count"] = suitetest.About(4e6/mean(v.Name)), suitetest.About(collections(r, v.Name))
		}))
	}
	of := func(processors int, mean, rate, collections func(v string) float64) run.Claim {
		return with(processors, mean, rate, func(_ *run.Result, v string) float64 { return 1e4 / collections(v) })
	}
	pooled := func(x float64) func(string) float64 {
		return func(v string) float64 {
			if v == l3Make {
				return 1
			}
			return x
		}
	}
	expect(t, "as claimed", of(16, pooled(2.4), pooled(1.7), pooled(10)), Holds)
	expect(t, "as claimed, on 2 processors", of(2, pooled(2.4), pooled(1.7), pooled(10)), CannotTest)
	expect(t, "nothing", of(16, pooled(1), pooled(1), pooled(1)), DoesNotHold)
	expect(t, "fewer collections only", of(16, pooled(1), pooled(1), pooled(50)), DoesNotHold)
	expect(t, "as meant only", of(16, pooled(2.4), pooled(1.7), func(v string) float64 {
		if v == l3Meant {
			return 10
		}
		return 1
	}), Depends)
	expect(t, "with a live heap only", with(16, pooled(2.4), pooled(1.7), func(r *run.Result, v string) float64 {
		if r.Params["heap"] == "0" || v == l3Make {
			return 100
		}
		return 5
	}), Depends)
	expect(t, "ten collections against none", with(16, pooled(2.4), pooled(1.7), func(_ *run.Result, v string) float64 {
		if v == l3Make {
			return 10
		}
		return 0
	}), Holds)
	expect(t, "on the limit", of(16, pooled(4.2/1.8*(1-slack)), pooled(1.7), pooled(10)), CannotTell)
}

// Each line of every goroutine is in the file, whole.
func TestL3LogsWholeLines(t *testing.T) {
	for _, s := range []l3Setting{l3Open[1], l3Closed[1], l3Closed[3]} {
		e := l3(s)
		for i := range e.Variants {
			dir := t.TempDir()
			if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, 640, 7); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "log"))
			lines := bytes.SplitAfter(text, []byte("\n"))
			if err != nil || len(lines) < 640 {
				t.Fatalf("%s: %d lines of 640 (%v)", e.Variants[i].Name, len(lines)-1, err)
			}
			starts := 0
			for _, l := range lines {
				if bytes.HasPrefix(l, []byte("level=info ts=")) {
					starts++
				}
			}
			if starts != 640 {
				t.Errorf("%s: %d lines begin as they should, want 640", e.Variants[i].Name, starts)
			}
		}
	}
}

// A pool of pointers does not allocate, one of slices does at each Put.
func TestL3PoolsAllocate(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ways, text := l3Ways(), []byte("text")
	for name, want := range map[string]float64{l3Make: 1, l3Coded: 1, l3Meant: 0} {
		if got := testing.AllocsPerRun(1000, func() { _ = ways[name](f, text) }); got != want {
			t.Errorf("%s: %v allocations a line, want %v", name, got, want)
		}
	}
}
