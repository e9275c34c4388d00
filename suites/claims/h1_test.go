package claims

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH1(t *testing.T) {
	c := claimH1()
	of := func(factor func(v string, grow bool) float64, right func(v string, grow bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			return 1e5 / factor(v, strings.Contains(e.Name, "grow"))
		})
		m.tails(func(r *run.Result, v *run.VariantResult) float64 {
			return 1e6 / factor(v.Name, strings.Contains(r.Name, "grow"))
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			grow := strings.Contains(r.Name, "grow")
			v.Metrics["gc_pause_ns"] = suitetest.About(1e6 / factor(v.Name, grow))
			v.Metrics[h1Right] = exactly(right(v.Name, grow))
		}))
	}
	always := func(string, bool) float64 { return 1 }
	// As coded two ways destroy the file.
	asCoded := func(v string, grow bool) float64 {
		return map[bool]float64{true: 1}[v != h1BufioCoded && (v != h1FsyncCoded || !grow)]
	}
	by := func(fresh, grows float64) func(string, bool) float64 {
		return func(v string, grow bool) float64 {
			switch {
			case v == h1Plain:
				return 1
			case grow:
				return grows
			}
			return fresh
		}
	}
	expect(t, "all twenty times", of(by(20, 20), always), Holds)
	expect(t, "all alike", of(by(1, 1), always), DoesNotHold)
	got := of(by(20, 1), always)
	expect(t, "only where files are fresh", got, Depends)
	if !strings.Contains(got.Why, "no with as coded, a file that grows") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	got = of(func(v string, grow bool) float64 {
		switch v {
		case h1BufioCoded, h1FsyncCoded, h1PooledCoded:
			return 20
		}
		return 1
	}, asCoded)
	expect(t, "what is fast destroys the file", got, DoesNotHold)
	if !strings.Contains(got.Measured, "wrong result") {
		t.Errorf("not mentioned: %s", got.Measured)
	}
	// Without a collection the pauses cannot be compared.
	m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 { return 1e5 / by(20, 20)(v, false) })
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics["gc_pause_ns"], v.Metrics[h1Right] = exactly(0), exactly(1)
	})
	got = judge(t, &c, m)
	expect(t, "no collection", got, CannotTell)
	if !strings.Contains(got.Why, "no collection in") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
	// Without latencies the totals and the pauses decide.
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics["gc_pause_ns"] = exactly(20)
		if v.Name != h1Plain {
			v.Metrics["gc_pause_ns"] = exactly(1)
		}
	})
	got = judge(t, &c, m)
	expect(t, "no latencies", got, Holds)
	if !strings.Contains(got.Why, "p99: no latencies were recorded") {
		t.Errorf("what was not tested is not named: %s", got.Why)
	}
	m.each(func(_ *run.Result, v *run.VariantResult) { v.Latency = []run.Percentile{{P: 99, Few: 120}} })
	got = judge(t, &c, m)
	expect(t, "too few for a p99", got, CannotTell)
	if !strings.Contains(got.Why, "at least 299 samples") {
		t.Errorf("not named: %s", got.Why)
	}
	m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, 0.9) })
	expect(t, "wide", judge(t, &c, m), CannotTell)
}

// The ways as meant are right; as coded two destroy the file.
func TestH1Ways(t *testing.T) {
	for name, want := range map[string][2]float64{ // of a fresh file, and of one that grows
		h1Plain: {1, 1}, h1Bufio: {1, 1}, h1Pooled: {1, 1}, h1Fsync: {1, 1},
		h1BufioCoded: {0, 0}, h1FsyncCoded: {1, 0}, h1PooledCoded: {1, 1},
	} {
		for i, grow := range []bool{false, true} {
			for _, e := range []lab.Experiment{h1(grow), h1Fsyncs(grow)} {
				v := e.Variant(name)
				if v == nil {
					continue
				}
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, v, dir, 3, 7)
				if err != nil {
					t.Fatal(err)
				}
				if got := b.Metrics[h1Right]; got != want[i] {
					t.Errorf("%s of %s: %v, want %v", name, e.Name, got, want[i])
				}
				size := int64(headerLen)
				switch {
				case name == h1BufioCoded:
					size = 4096
				case grow && name != h1FsyncCoded:
					size = 3 * headerLen
				}
				files, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				wantSize(t, filepath.Join(dir, files[len(files)-1].Name()), size)
			}
		}
	}
}
