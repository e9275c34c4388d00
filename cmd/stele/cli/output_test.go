package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// quickly are the flags of a short run of one experiment.
func quickly(more ...string) []string {
	return append([]string{"bench", "mkdir", "--filter", "depth=1$", "--rounds", "1", "--block-time", "1ms", "--no-calibration", "--no-counting", "--progress", "none"}, more...)
}

// An output that cannot be written is found before anything is measured.
func TestOutputsAreCheckedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("dir", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"missing/run.json", "dir", "file/run.json"} {
		code, out, diag := stele(t, quickly("--json", name)...)
		if code != exitUsage || out != "" || !strings.Contains(diag, "--json") {
			t.Errorf("--json %s: exit code %d, output %q, %q; want exit code %d and nothing measured", name, code, out, diag, exitUsage)
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 2 {
		t.Errorf("the checks left %v (error %v); want dir and file alone", entries, err)
	}
}

// A run whose outputs fail in the end is kept.
func TestRunIsKept(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	code, _, diag := stele(t, quickly("--json", "/dev/full", "--html", "run.html")...)
	m := regexp.MustCompile(`kept as JSON in (\S+);`).FindStringSubmatch(diag)
	if code != exitFailed || m == nil {
		t.Fatalf("exit code %d, %q; want %d and the name of a file", code, diag, exitFailed)
	}
	if _, err := readRunFrom(m[1], nil); err != nil {
		t.Error(err)
	}
}

// The HTML report that no flag asked for does not decide the exit code.
func TestUnaskedPageMayFail(t *testing.T) {
	t.Chdir(t.TempDir())
	b := benchFlags{}
	r := &run.Run{Started: time.Unix(0, 0).UTC()}
	name := "stele-report-19700101-000000.html"
	if err := os.Mkdir(name, 0o777); err != nil { // in the way of the file
		t.Fatal(err)
	}
	var text, diag strings.Builder
	b.page(r, true, &text, &diag)
	if text.String() != "" || !strings.Contains(diag.String(), "no HTML report: ") {
		t.Errorf("output %q, %q; want the reason", text.String(), diag.String())
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if b.page(r, true, &text, &diag); !strings.Contains(text.String(), name) {
		t.Errorf("output %q, want the name of the report", text.String())
	}
}

// One directory under two names is one place.
func TestDirectoriesAreDistinct(t *testing.T) {
	t.Chdir(t.TempDir())
	abs, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	code, _, diag := stele(t, quickly("--dir", ".", "--dir", "./", "--dir", abs, "--json", "run.json", "--html", "run.html")...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	data, err := os.ReadFile("run.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Places []struct{ Name string } }
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Places) != 1 || r.Places[0].Name != "." {
		t.Errorf("places %v, want . alone", r.Places)
	}
}

func TestNothingMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	b := benchFlags{outputs: outputs{json: "run.json"}}
	r := &run.Run{Partial: &run.Partial{Cause: "interrupted"}, Results: []*run.Result{{Blocks: []run.Block{{Role: run.RolePilot}}}}}
	var out, diag strings.Builder
	if code := b.finish(r, selection{}, false, &out, &diag); code != exitInterrupted || out.String() != "" {
		t.Errorf("exit code %d, output %q; want %d and none", code, out.String(), exitInterrupted)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("files %v, error %v; want none", entries, err)
	}
}
