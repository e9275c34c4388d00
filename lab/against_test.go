package lab

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// otherBuild returns this test binary under another name, by which its blocks can tell
// that they are the other program.
func otherBuild(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(t.TempDir(), name)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o777)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// buildsExperiment returns an experiment whose variants differ between the two builds, or whose
// variants the build "older" has not.
func buildsExperiment() Experiment {
	older := filepath.Base(os.Args[0]) == "older"
	work := func(units float64) func(*B) error {
		return func(b *B) error {
			for b.Loop() {
			}
			b.Report("work", units)
			return nil
		}
	}
	now := 2.0
	if older {
		now = 1
	}
	e := Experiment{Suite: "test", Name: "builds", Question: "Which build is faster?", Op: "nothing", Ops: 10, Stateless: true, Variants: []Variant{
		{Name: "alike", Promise: kill, Run: work(1)},
		{Name: "more now", Promise: kill, Run: work(now)},
	}}
	name := "only now"
	if older {
		name = "only then"
	}
	e.Variants = append(e.Variants, Variant{Name: name, Promise: power, Run: work(1)})
	return e
}

// Each variant that both programs have is measured from both in the same rounds, and a
// figure that has doubled in this one is a regression.
func TestAgainst(t *testing.T) {
	got, err := Measure(t.Context(), Options{
		Against: otherBuild(t, "older"), Rounds: 8, BlockTime: time.Millisecond, NoCounting: true,
		Places: []PlaceSpec{{Dir: t.TempDir()}},
	}, buildsExperiment())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, b := range got.Results[0].Blocks {
		if b.Error != "" {
			t.Fatal(b.Error)
		}
		count[b.Role+" "+b.Variant]++
	}
	for what, want := range map[string]int{
		"timed alike": 8, "against alike": 8, "timed more now": 8, "against more now": 8, "timed only now": 8, "against only now": 0,
	} {
		if count[what] != want {
			t.Errorf("%d blocks %s, want %d: %v", count[what], what, want, count)
		}
	}
	missing := map[string]bool{}
	for _, m := range got.Against.Missing {
		missing[m.Code+" "+m.Variant] = true
	}
	if !missing["missing only then"] || !missing["added only now"] || len(missing) != 2 {
		t.Errorf("missing: %v", got.Against.Missing)
	}
	if got.Gate == nil || got.Gate.Outcome != run.Broken {
		t.Errorf("a variant that the other program alone has: %+v", got.Gate)
	}
	// Whatever the time of nothing is.
	gate := got.CompareBuilds(run.CompareOptions{Force: true, Tolerance: map[string]float64{"time": 1e9, "work": 0.4}})
	outcomes := map[string]run.Outcome{}
	for _, row := range gate.Rows {
		outcomes[row.Variant+" "+row.Metric] = row.Outcome
	}
	want := map[string]run.Outcome{"alike time": run.Pass, "alike work": run.Pass, "more now time": run.Pass, "more now work": run.Regression}
	if !maps.Equal(outcomes, want) || gate.Outcome != run.Regression || !gate.Paired {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
}

// A program that cannot answer is an error that says what to do, before anything is
// measured.
func TestAgainstAnotherProgram(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "silent")
	if err := os.WriteFile(silent, []byte("#!/bin/sh\ncat >/dev/null\necho hello\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	failing := filepath.Join(t.TempDir(), "failing")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\ncat >/dev/null\necho unknown flag >&2; exit 2\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	future := filepath.Join(t.TempDir(), "future")
	if err := os.WriteFile(future, []byte("#!/bin/sh\ncat >/dev/null\necho '{\"lab_protocol\": 9}'\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	for _, c := range []struct{ program, want string }{
		{filepath.Join(t.TempDir(), "none"), "no such file"},
		{t.TempDir(), "directory"},
		{silent, "lab.IsBlock"},
		{failing, "unknown flag"},
		{future, "version 9"},
	} {
		_, err := Measure(t.Context(), Options{Against: c.program, Rounds: 1}, buildsExperiment())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.program) {
			t.Errorf("%s: %v; want the path and %q", c.program, err, c.want)
		}
	}
	if _, err := Measure(t.Context(), Options{Against: otherBuild(t, "older"), InProcess: true}, buildsExperiment()); err == nil || !strings.Contains(err.Error(), "InProcess") {
		t.Errorf("blocks in one process: %v", err)
	}
	if _, err := Measure(t.Context(), Options{Against: otherBuild(t, "older")}, Experiment{Suite: "test", Name: "unknown", Variants: buildsExperiment().Variants}); err == nil || !strings.Contains(err.Error(), "at least one variant") {
		t.Errorf("an experiment that the other program lacks: %v", err)
	}
}
