package claimpage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/claims"
)

func TestMain(m *testing.M) {
	if lab.IsBlock() {
		var all []lab.Experiment
		for _, c := range All() {
			all = append(all, c.Experiments...)
		}
		os.Exit(lab.RunBlock(all))
	}
	// D8 makes thousands of directories.
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm")
	}
	os.Exit(m.Run())
}

func claim(t *testing.T, id string) *claims.Claim {
	t.Helper()
	for _, c := range All() {
		if c.ID == id {
			return &c
		}
	}
	t.Fatalf("there is no claim %s", id)
	return nil
}

// runOf returns a real run of a claim, with few rounds.
func runOf(t *testing.T, c *claims.Claim) *run.Run {
	t.Helper()
	r, err := lab.Measure(t.Context(), lab.Options{
		Places: []lab.PlaceSpec{{Name: "ext4", Dir: t.TempDir()}, {Name: "tmpfs", Dir: t.TempDir()}}, Rounds: 2, BlockTime: 1e6, NoCalibration: true,
	}, c.Experiments...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The page of a store has the verdicts of its runs, the same after they are read again, and
// says which claims have none.
func TestPageFromRuns(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "runs")}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := claim(t, "D8") // facts: its verdict needs no rounds
	r := runOf(t, c)
	want := c.Judge(r.Results, r.Places)[0].Verdict
	if want != claims.Holds && want != claims.DoesNotHold {
		t.Fatalf("the verdict on D8 is %q", want)
	}
	if err := s.Save(c.ID, r); err != nil {
		t.Fatal(err)
	}
	text, err := Page(All(), s)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		if id, _, ok := strings.Cut(strings.TrimPrefix(line, "| ["), "]"); ok && strings.HasPrefix(line, "| [") {
			rows[id] = line
		}
	}
	if len(rows) != len(All()) {
		t.Errorf("%d rows of %d claims", len(rows), len(All()))
	}
	// Verdicts on ext4 and tmpfs, none on the two that were not measured.
	if !strings.Contains(rows["D8"], "| "+want+" |  |  | "+want+" |") || !strings.Contains(rows["D8"], "runs/D8.json.gz") {
		t.Errorf("the row of D8: %s", rows["D8"])
	}
	if !strings.Contains(rows["D1"], "not measured yet") || !strings.Contains(text, "1. ") {
		t.Errorf("the row of D1: %s", rows["D1"])
	}

	if err := os.WriteFile(s.File("D1"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Page(All(), s); err == nil || !strings.Contains(err.Error(), "D1.json.gz") {
		t.Errorf("a damaged run: %v", err)
	}
}

// A run that lacks an experiment, as after the claim has changed, is measured again.
func TestComplete(t *testing.T) {
	c := claim(t, "D8")
	r := runOf(t, c)
	if !Complete(c, r) || Complete(c, nil) || Complete(c, &run.Run{}) {
		t.Error("a whole run is not complete, or none is")
	}
	interrupted := *r
	if interrupted.Partial = new(run.Partial); Complete(c, &interrupted) {
		t.Error("an interrupted run is complete")
	}
	if r.Results = r.Results[1:]; Complete(c, r) {
		t.Error("a run without an experiment is complete")
	}
}

// A saved run does not say where on the machine it was made.
func TestSavedPathsAreRelative(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: t.TempDir()}
	r := &run.Run{Settings: run.Settings{Test: "bootstrap"}, Places: []run.Place{{Name: "ext4", Environment: run.Environment{Dir: filepath.Join(dir, "image", "mnt")}}}}
	if err := s.Save("D1", r); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load("D1")
	if err != nil {
		t.Fatal(err)
	}
	if got := got.Places[0].Environment.Dir; got != filepath.Join("image", "mnt") {
		t.Errorf("the directory is %q", got)
	}
}
