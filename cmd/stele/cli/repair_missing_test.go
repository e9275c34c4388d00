package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// aStoreWithoutItsSegment is aStore whose segment is the file copy.
func aStoreWithoutItsSegment(t *testing.T) {
	t.Helper()
	aStore(t)
	if err := os.Rename(sealedFile, "copy"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"repair", "store"}, {"snapshot", "store", "snapshot"}} {
		if code, _, _ := stele(t, args...); code != exitFailed {
			t.Fatalf("%v: exit code %d", args, code)
		}
	}
}

// notAlarmed checks that nothing tells a loss of the store.
func notAlarmed(t *testing.T) {
	t.Helper()
	if code, out, diag := stele(t, "repair", "store"); code != exitOK || !strings.HasSuffix(out, "nothing to repair\n") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	for _, args := range [][]string{{"inspect", "store"}, {"snapshot", "store", "snapshot"}} {
		if code, out, diag := stele(t, args...); code != exitOK {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, diag)
		}
	}
}

// What stele repair advises ends its alarm.
func TestImportPutsASegmentBack(t *testing.T) {
	t.Chdir(t.TempDir())
	aStoreWithoutItsSegment(t)
	code, out, diag := stele(t, "import", "copy", "store")
	if code != exitOK || diag != "" || out != "copy: 6 entries imported into store, 1 segment of it put back\n" {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	notAlarmed(t)
	code, out, _ = stele(t, "import", "copy", "store")
	if code != exitOK || out != "copy: 0 entries imported into store, 6 imported before\n" {
		t.Errorf("again: exit code %d: %s", code, out)
	}
}

func TestRepairAcceptsMissing(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		t.Chdir(t.TempDir())
		aStoreWithoutItsSegment(t)
		code, out, diag := stele(t, "repair", "store", "--accept-missing")
		if code != exitFailed || !strings.Contains(out, sealedFile+" is missing: ") ||
			!strings.Contains(out, "given up for good: 1 segment missing, or parts of them, with 6 entries\n") || !strings.Contains(diag, "nothing was changed: --yes gives them up") {
			t.Errorf("exit code %d: %s%s", code, out, diag)
		}
		if reports, _ := filepath.Glob("store/quarantine/missing-*"); len(reports) > 0 {
			t.Errorf("without --yes there are %v", reports)
		}
		args := []string{"repair", "store", "--accept-missing", "--yes"}
		if asJSON {
			args = append(args, "--json", "-")
		}
		code, out, diag = stele(t, args...)
		if code != exitOK || diag != "" {
			t.Errorf("exit code %d: %s%s", code, out, diag)
		}
		reports, err := filepath.Glob("store/quarantine/missing-*.txt")
		if err != nil || len(reports) != 1 {
			t.Fatalf("%v %v", reports, err)
		}
		report, err := os.ReadFile(reports[0])
		if err != nil || !strings.Contains(string(report), sealedFile+" is missing: positions 1 to 4 of the log, 6 entries") {
			t.Errorf("%v in\n%s", err, report)
		}
		var doc repairDoc
		switch {
		case asJSON && (json.Unmarshal([]byte(out), &doc) != nil || doc.Accepted != reports[0] || len(doc.Missing) != 1):
			t.Errorf("%s", out)
		case !asJSON && !strings.HasSuffix(out, "accepted: the store no longer expects what is missing; the report is "+reports[0]+"\n"):
			t.Errorf("%s", out)
		}
		notAlarmed(t)
	}
}
