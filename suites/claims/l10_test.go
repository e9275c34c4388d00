package claims

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

func TestJudgeL10(t *testing.T) {
	c := claimL10()
	of := func(lone, many, tail, lost float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			switch {
			case v == l10Coded:
				return 1e3
			case v != l10Meant:
				return 1e5
			case e.Params["appenders"] == "1":
				return 1e5 / lone
			}
			return 1e5 / many
		}).each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics[cutsMade], v.Metrics[cutsLost] = suitetest.About(30), suitetest.About(0)
			if v.Name == l10Meant {
				v.Metrics[cutsLost] = suitetest.About(lost)
			}
		})
		return judge(t, &c, m.tails(func(_ *run.Result, v *run.VariantResult) float64 {
			if v.Name == l10Meant {
				return 1e6 * tail
			}
			return 1e6
		}))
	}
	expect(t, "as fast", of(1, 1.2, 1, 0), Holds)
	expect(t, "as fast, with a longer tail", of(1, 1.2, 2, 0), DoesNotHold)
	expect(t, "5 ms for each record", of(0.04, 0.5, 1, 0), DoesNotHold)
	expect(t, "with many only", of(0.04, 1.5, 1, 0), Depends)
	expect(t, "records are lost", of(1, 1.2, 1, 3), DoesNotHold)
	expect(t, "on the limit", of(1-slack, 1, 1, 0), CannotTell)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e5 }).tails(func(*run.Result, *run.VariantResult) float64 { return 1e6 })
	for _, r := range m.results {
		for i := range r.Variants {
			if r.Name == "L10-cut" {
				r.Variants[i].Error = "crashtest: unavailable: no loop devices"
			}
		}
	}
	expect(t, "without power-cut images", judge(t, &c, m), CannotTest)
}

// A power cut loses records that were answered from memory, and none that were answered when
// durable.
func TestL10Cut(t *testing.T) {
	e := l10Cut("ext4")
	for name, lost := range map[string]bool{l10Meant: false, wals.WayGroup: false, l10Coded: true} {
		b, err := lab.RunOnce(t.Context(), &e, e.Variant(name), t.TempDir(), 1, 7)
		if b.Unsupported {
			t.Skip(err)
		}
		if err != nil || b.Metrics[cutsMade] < 10 || (b.Metrics[cutsLost] > 0) != lost {
			t.Errorf("%s: %v cuts, %v lost something (%v)", name, b.Metrics[cutsMade], b.Metrics[cutsLost], err)
		}
	}
}

func TestL10Runs(t *testing.T) {
	for _, c := range WAL() {
		c.Experiments = c.Experiments[:len(l10Appenders)] // the cuts have a test of their own
		runClaims(t, []Claim{c}, 20, func(*testing.T, *lab.Experiment, string, run.Block) {})
	}
}

// Records acknowledged as durable are in the file; the others follow when the log is closed
// or after 5 ms.
func TestThreeLevels(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	l := newThreeLevels(f, false)
	var want []byte
	for i := range 200 {
		rec := headers.Head(7*i + 1)
		want = wals.AppendFrame(want, rec)
		if err := l.append(rec, i%20 == 19); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || i%20 == 19 && string(got) != string(want) {
			t.Fatalf("record %d: %d bytes are in the file, want %d: %v", i, len(got), len(want), err)
		}
	}
	want = wals.AppendFrame(want, headers.Head(100))
	if err := l.append(headers.Head(100), false); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if got, err := os.ReadFile(name); err != nil || string(got) == string(want) {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("a page that is not full was never written")
		}
	}
	if err := l.append(headers.Head(l10Ring), false); err == nil {
		t.Error("a record that is larger than the ring was taken")
	}
	want = wals.AppendFrame(want, headers.Head(9000))
	if err := errors.Join(l.append(headers.Head(9000), false), l.close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes are in the file, want %d: %v", len(got), len(want), err)
	}
}

// After a failed sync no record is acknowledged.
func TestThreeLevelsTellOfFailure(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l := newThreeLevels(f, false)
	for range 3 {
		if err := l.append(headers.Head(10), true); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

// Both readings of A keep the records of several appenders.
func TestL10WaysKeepRecords(t *testing.T) {
	for _, w := range []wals.Way{threeLevelWay(l10Coded, "", durability.None, true), threeLevelWay(l10Meant, "", durability.Power, false)} {
		t.Run(w.Name, func(t *testing.T) {
			dir := suitetest.MemoryDir(t)
			l, err := w.Open(job.Site{Dir: dir, Ops: suitetest.LogRecords, Size: suitetest.LogRecordSize})
			if err != nil {
				t.Fatal(err)
			}
			suitetest.KeepsRecords(t, dir, l.Append, l.Close)
		})
	}
}
