package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/env"
)

// The exit code is the verdict's, in text and in JSON, and both have everything.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	codes := map[string]int{env.Honest: exitOK, env.NotHonest: exitNotHonest, env.CannotTell: exitCannotTell}
	code, out, diag := stele(t, "probe", dir, "--json", "-")
	var can env.Capabilities
	if err := json.Unmarshal([]byte(out), &can); err != nil || can.Syncs == nil || can.Tree == nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, diag)
	}
	if want, known := codes[can.Syncs.Verdict]; !known || code != want || len(can.Syncs.Ways) != 5 || len(can.Syncs.Unseen) == 0 {
		t.Errorf("exit code %d of %+v", code, can.Syncs)
	}
	code, out, diag = stele(t, "probe", dir)
	if code != exitOK && code != exitNotHonest && code != exitCannotTell || diag != "" {
		t.Errorf("exit code %d, %q", code, diag)
	}
	for _, want := range []string{"file system", "O_TMPFILE", "fdatasync  ", "the directory itself\n  0 entries", "not visible from here", "\nSyncs are honest|\nSyncs are not honest|\nWhether syncs"} {
		found := false
		for _, one := range strings.Split(want, "|") {
			found = found || strings.Contains(out, one)
		}
		if !found {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Memory is the one place that every Linux machine has whose syncs do nothing.
func TestProbeOfMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "stele-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	if code, out, diag := stele(t, "probe", dir); code != exitNotHonest || !strings.Contains(out, "Syncs are not honest: /dev/shm: the files are in memory") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}
