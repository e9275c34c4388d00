package claims_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/suites/internal/claimpage"
)

var update = flag.Bool("update", false, "rewrite README.md from the raw runs")

// README.md is the page that the raw runs make.
func TestIndexIsUpToDate(t *testing.T) {
	got, err := claimpage.Page(claimpage.All(), claimpage.Store{Dir: "runs"})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(want), "\r\n", "\n") != got {
		t.Error("README.md is not the page of the raw runs; run go test ./suites/claims -run Index -update")
	}
}

// All raw runs together stay small, and each is of a claim.
func TestRawRuns(t *testing.T) {
	const most = 20 << 20
	files, err := filepath.Glob("runs/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range claimpage.All() {
		known[c.ID] = true
	}
	sum := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
		if id := strings.TrimSuffix(filepath.Base(f), ".json.gz"); !known[id] {
			t.Errorf("%s is a run of no claim", f)
		}
	}
	if sum > most {
		t.Errorf("the raw runs have %d bytes, want %d or less", sum, most)
	}
	if _, err := os.Stat("runs/go.mod"); err != nil {
		t.Errorf("the raw runs are in the zip of the module: %v", err)
	}
}
