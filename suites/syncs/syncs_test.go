package syncs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Each variant of the suite does its job, with few operations.
func TestSyncWaysWrite(t *testing.T) {
	t.Parallel()
	for _, e := range Full() {
		if hz, writers := e.Params["hz"], e.Params["writers"]; hz != "" && hz != "200" || writers != "" && writers != "4" {
			continue // they differ in a number only
		}
		for i := range e.Variants {
			v := &e.Variants[i]
			dir := t.TempDir()
			const ops = 20
			b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
			if b.Unsupported || errors.Is(err, errors.ErrUnsupported) {
				t.Logf("%s, %s: not here: %v", e.ID(), v.Name, err)
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", e.ID(), v.Name, err)
				continue
			}
			files, size := 1, int64(aheadBytes)
			if e.Params["writers"] != "" {
				files, size = suitetest.Int(t, e.Params["writers"]), 1<<20
			}
			if e.Params["file"] == fileAppend {
				size = ops / int64(files) * PageSize
			}
			var sum int64
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != files {
				t.Errorf("%s, %s: %d files, %v; want %d", e.ID(), v.Name, len(entries), err, files)
			}
			for _, entry := range entries {
				info, err := os.Stat(filepath.Join(dir, entry.Name()))
				if err != nil {
					t.Fatal(err)
				}
				sum += info.Size()
				if d := info.Size() - size; d < 0 || d >= 2*PageSize {
					t.Errorf("%s, %s: %s has %d bytes, want %d", e.ID(), v.Name, entry.Name(), info.Size(), size)
				}
			}
			if e.Params["file"] == fileAppend && sum != ops*PageSize {
				t.Errorf("%s, %s: %d bytes, want %d", e.ID(), v.Name, sum, ops*PageSize)
			}
			if e.Params["hz"] != "" {
				if sd, ok := b.Metrics[jitterMetric]; !ok || sd <= 0 {
					t.Errorf("%s, %s: jitter %v, %v", e.ID(), v.Name, sd, ok)
				}
			}
		}
	}
}

func TestSyncRefusesParameters(t *testing.T) {
	e := mechanism(fileOverwrite).Build()
	e.Params = run.Params{"file": "elsewhere"}
	if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
		t.Error("file=elsewhere gave no error")
	}
	e = frequency(fileAppend, 200).Build()
	e.Params["hz"] = "0"
	if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
		t.Error("hz=0 gave no error")
	}
}

// A write waits for its turn.
func TestPacedWritesArePaced(t *testing.T) {
	e := frequency(fileAppend, 20).Build()
	begin := time.Now()
	if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 5, 7); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 4*50*time.Millisecond {
		t.Errorf("5 operations at 20 a second took %v", took)
	}
}

func TestVariance(t *testing.T) {
	var v variance
	for _, x := range []float64{2, 4, 4, 4, 5, 5, 7, 9} {
		v.add(x)
	}
	if got, want := v.deviation(), math.Sqrt(32./7); math.Abs(got-want) > 1e-12 {
		t.Errorf("deviation %v, want %v", got, want)
	}
}

func jitters(spread float64, sds ...float64) []run.Estimate {
	var list []run.Estimate
	for _, sd := range sds {
		list = append(list, suitetest.Wide(sd, spread))
	}
	return list
}

func TestJitterJump(t *testing.T) {
	for _, c := range []struct {
		name   string
		jitter []run.Estimate
		lo, hi int
	}{
		{"even", jitters(0.01, 1, 1.1, 0.9, 1, 1), 5, 5},
		{"at the third", jitters(0.01, 1, 1.1, 3, 4, 3.5), 2, 2},
		{"at the first that can be", jitters(0.01, 1, 3, 3, 3, 3), 1, 1},
		{"up and back", jitters(0.01, 1, 1, 5, 1, 1), 5, 5},
		{"at the last", jitters(0.01, 1, 1, 1, 1, 5), 4, 4},
		{"falling", jitters(0.01, 5, 4, 3, 2, 1), 5, 5},
		{"slowly", jitters(0.01, 1, 1.5, 2.2, 3.3, 5), 5, 5},
		{"wide intervals", jitters(0.3, 1, 1, 3, 3, 3), 2, 5},
		{"none", jitters(math.NaN(), 1, 1, 3, 3, 3), 1, 5},
	} {
		if lo, hi := JitterJump(c.jitter); lo != c.lo || hi != c.hi {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, lo, hi, c.lo, c.hi)
		}
	}
}

func TestJumpText(t *testing.T) {
	rates := []int{1, 10, 100}
	for want, jitter := range map[string][]run.Estimate{
		"no jump up to 100 a second":                           jitters(0.01, 1, 1, 1),
		"jump at 10 a second":                                  jitters(0.01, 1, 3, 3),
		"cannot tell: a jump at 100 a second, or none":         jitters(0.3, 1, 1, 3),
		"cannot tell: a jump at 10 a second or above, or none": jitters(0.3, 1, 3, 3),
		"jump between 10 and 100 a second":                     {suitetest.About(1), suitetest.Wide(2, 0.2), suitetest.About(9)},
	} {
		if got := JumpText(rates, jitter); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNotesNameTheJump(t *testing.T) {
	var results []*run.Result
	for _, hz := range rates() {
		sd := 1e5
		if hz >= 80 {
			sd = 1e6
		}
		r := &run.Result{Suite: "sync", Name: "frequency", Place: "here", Params: run.Params{"hz": fmt.Sprint(hz), "file": fileAppend}}
		r.Variants = []run.VariantResult{
			{Name: WayFsync, Metrics: map[string]run.Estimate{jitterMetric: suitetest.About(sd)}},
			{Name: WayODsync, Metrics: map[string]run.Estimate{jitterMetric: suitetest.About(1e5)}},
			{Name: WayOSync, Metrics: map[string]run.Estimate{}},
		}
		results = append(results, r, &run.Result{Suite: "other", Name: "frequency", Params: r.Params})
	}
	want := []run.Note{{Code: run.NoteJitter, Place: "here", Text: fileAppend, N: jumps, Jumps: []run.JitterJump{
		{Variant: WayFsync, From: 80, To: 80, Most: 200}, {Variant: WayODsync, Most: 200}, // and no jump of WayOSync, which was not measured
	}}}
	if got := Notes(results); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Notes(results[:1]); len(got) != 0 {
		t.Errorf("one rate has notes: %+v", got)
	}
	if got := Notes([]*run.Result{{Suite: "sync", Name: "mechanism"}, {Suite: "sync", Name: "mechanism"}}); !reflect.DeepEqual(got, []run.Note{{Code: run.NoteSyncProof}}) {
		t.Errorf("%+v, want the note on the proof once", got)
	}
}
