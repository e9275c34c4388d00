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
	of := func(lone, many float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			switch {
			case v == l10Coded:
				return 1e3
			case v != l10Meant:
				return 1e5
			case e.Params["appenders"] == "1":
				return 1e5 / lone
			}
			return 1e5 / many
		}))
	}
	expect(t, "as fast", of(1, 1.2), Holds)
	expect(t, "5 ms for each record", of(0.04, 0.5), DoesNotHold)
	expect(t, "with many only", of(0.04, 1.5), Depends)
	expect(t, "on the limit", of(1-slack, 1), CannotTell)
}

func TestL10Runs(t *testing.T) {
	for _, c := range WAL() {
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
	l := newThreeLevels(f)
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
	l := newThreeLevels(f)
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
	for _, w := range []wals.Way{threeLevelWay(l10Coded, "", durability.None), threeLevelWay(l10Meant, "", durability.Power)} {
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
