package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/claimpage"
)

func TestMain(m *testing.M) {
	if lab.IsBlock() {
		var all []lab.Experiment
		for _, c := range claimpage.All() {
			all = append(all, c.Experiments...)
		}
		os.Exit(lab.RunBlock(all))
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-fs zfs", `"zfs"`}, {"-each 0s", "want more than 0"}, {"X9", "X9 is no claim"},
	} {
		var said strings.Builder
		if err := command(t.Context(), strings.Fields(c.args), &said); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// What is measured is kept; a second call measures only what is missing, and an interrupted
// one keeps nothing of the claim it was at.
func TestResumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("images take root")
	}
	dir := t.TempDir()
	call := func(ctx context.Context, args ...string) (string, error) {
		var said strings.Builder
		err := command(ctx, append([]string{"-dir", dir, "-fs", "tmpfs", "-each", "1s"}, args...), &said)
		return said.String(), err
	}
	if said, err := call(t.Context(), "D8"); err != nil || !strings.Contains(said, "1 of ") {
		t.Fatalf("%v: %s", err, said)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(page), "runs/D8.json.gz") {
		t.Fatalf("the page lacks D8: %v", err)
	}
	if said, err := call(t.Context(), "D8"); err != nil || !strings.Contains(said, "0 of ") {
		t.Errorf("a claim with a run is measured again: %v: %s", err, said)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call(stopped, "C11"); err == nil {
		t.Error("an interrupted call succeeds")
	}
	if _, err := os.Stat(filepath.Join(dir, "runs", "C11.json.gz")); err == nil {
		t.Error("an interrupted claim has a run")
	}
	if err := os.Remove(filepath.Join(dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), "-write"); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(again) != string(page) {
		t.Errorf("the page from the runs alone differs: %v", err)
	}
}
