package gobench_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/gobench"
	"github.com/stele-go/stele/lab/run"
)

var spent atomic.Int64 // operations of the benchmarks here

// benchmarks are of every style.
var benchmarks = map[string]func(*testing.B){
	"count": func(b *testing.B) {
		for range b.N {
			spent.Add(1)
		}
	},
	"loop": func(b *testing.B) {
		for b.Loop() {
			spent.Add(1)
		}
	},
	"timers": func(b *testing.B) {
		time.Sleep(30 * time.Millisecond)
		b.ResetTimer()
		for range b.N {
			b.StopTimer()
			time.Sleep(3 * time.Millisecond)
			b.StartTimer()
			spent.Add(1)
		}
	},
	"bytes": func(b *testing.B) {
		b.SetBytes(1000)
		for b.Loop() {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(7, "widgets/op") // B.Loop drops metrics of before, as under go test
	},
	"parallel": func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				spent.Add(1)
			}
		})
	},
	"short": func(b *testing.B) {
		for range b.N {
			_ = testing.Short()
		}
	},
	"fails": func(b *testing.B) { b.Fatal("no luck today") },
	"later": func(b *testing.B) {
		if b.N > 1 {
			b.Error("only the first time")
		}
	},
	"skips": func(b *testing.B) { b.Skip("not on this disk") },
	"subs":  func(b *testing.B) { b.Run("x", func(b *testing.B) { b.Log("one") }) },
	"temp": func(b *testing.B) {
		if err := os.WriteFile(filepath.Join(b.TempDir(), "f"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
		if !strings.HasPrefix(b.TempDir(), os.Getenv("TMPDIR")) {
			b.Fatal(b.TempDir())
		}
		for b.Loop() {
			spent.Add(1)
		}
	},
}

func testExperiments() []lab.Experiment {
	e := lab.Experiment{Suite: "test", Name: "styles", Stateless: true}
	for name, f := range benchmarks {
		e.Variants = append(e.Variants, gobench.Variant(name, run.WritesNothing(), f))
	}
	return []lab.Experiment{e}
}

func once(t *testing.T, name string, ops int64) (run.Block, error) {
	t.Helper()
	e := testExperiments()[0]
	return lab.RunOnce(t.Context(), &e, e.Variant(name), t.TempDir(), ops, 1)
}

// A benchmark of any style does the operations of the block, and one more beforehand
// if it counts to N.
func TestStyles(t *testing.T) {
	const ops = 50
	for name, most := range map[string]int64{"count": ops + 1, "loop": ops, "parallel": ops + 1, "temp": ops, "short": 0} {
		spent.Store(0)
		b, err := once(t, name, ops)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b.Ops != ops || b.Wall <= 0 || spent.Load() != most {
			t.Errorf("%s: %d operations in %d ns, and did %d; want %d and %d", name, b.Ops, b.Wall, spent.Load(), ops, most)
		}
		if _, has := b.Metrics["allocs_per_op"]; !has {
			t.Errorf("%s: no allocations", name)
		}
	}
}

// The time is the benchmark's own: 10 operations sleep 60 ms outside of it.
func TestTimers(t *testing.T) {
	b, err := once(t, "timers", 10)
	if err != nil {
		t.Fatal(err)
	}
	if wall := time.Duration(b.Wall); wall > 30*time.Millisecond {
		t.Errorf("the timer ran for %v, the stopped part included", wall)
	}
}

func TestMetrics(t *testing.T) {
	b, err := once(t, "bytes", 20)
	if err != nil {
		t.Fatal(err)
	}
	want := 1000 * 20 / time.Duration(b.Wall).Seconds()
	if got := b.Metrics["bytes_per_second"]; got < 0.99*want || got > 1.01*want || b.Missing["bytes_per_second"] != (run.Reason{}) {
		t.Errorf("%v bytes a second, want %v", got, want)
	}
	if b.Metrics["widgets/op"] != 7 {
		t.Errorf("metrics %v", b.Metrics)
	}
}

func TestFailures(t *testing.T) {
	for name, want := range map[string]string{
		"fails": "no luck today", "later": "only the first time", "skips": "not on this disk", "subs": "want a variant for each sub-benchmark",
	} {
		b, err := once(t, name, 5)
		if err == nil || !strings.Contains(err.Error(), want) || b.Unsupported != (name == "skips") {
			t.Errorf("%s: %v, unsupported %v; want %q", name, err, b.Unsupported, want)
		}
	}
}

// In blocks of their own processes, with other benchmarks beside.
func TestBlocks(t *testing.T) {
	e := testExperiments()[0]
	e.Variants = []lab.Variant{*e.Variant("loop"), *e.Variant("temp"), *e.Variant("fails"), *e.Variant("skips")}
	r, err := lab.Measure(t.Context(), lab.Options{Places: []lab.PlaceSpec{{Dir: t.TempDir()}}, Rounds: 6, BlockTime: 2 * time.Millisecond, NoCalibration: true}, e)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Results[0]
	for _, name := range []string{"loop", "temp"} {
		if v := res.Variant(name); v.Error != "" || v.Time.N == 0 || !(v.Time.Median > 0) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := res.Variant("fails"); !strings.Contains(v.Error, "no luck today") || v.Unsupported {
		t.Errorf("fails: %q", v.Error)
	}
	if v := res.Variant("skips"); !v.Unsupported {
		t.Errorf("skips: %q", v.Error)
	}
}
