package cli

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// A way that only this program has is not judged, but it must not fail.
func TestGateNoticesAFailureThatIsInNoRow(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, v := range map[int]run.VariantResult{
		run.Broken.ExitCode(): {Name: "new way", Error: "disk full"},
		exitOK:                {Name: "new way", Error: "not here", Unsupported: true},
	} {
		measured := &run.Run{
			Against: &run.Against{Program: "old"}, Gate: &run.CompareReport{Outcome: run.Pass},
			Results: []*run.Result{{ID: "s/n", Suite: "s", Name: "n", Variants: []run.VariantResult{v}}},
		}
		b := benchFlags{Bench: Bench{Name: "stele bench"}}
		var text, diag bytes.Buffer
		if code := b.finishAgainst(measured, &text, &text, &diag); code != want || strings.Contains(diag.String(), v.Error) != (want != exitOK) {
			t.Errorf("%+v: exit code %d, want %d: %s", v, code, want, diag.String())
		}
	}
}

// A list of processors that this machine does not have is a wrong call: no command runs,
// no file is laid out.
func TestCPUsAreRefusedFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are pinned on Linux only")
	}
	t.Chdir(t.TempDir())
	for _, call := range []string{"bench mkdir", "bench io --size 1M", "bench cmd true"} {
		code, _, diag := stele(t, append(words(call), "--cpus", "0,1020", "--progress", "plain")...)
		if code != exitUsage || !strings.Contains(diag, "--cpus: 0,1020; want processors that are online and in the cgroup of this process: not ") || strings.Count(diag, "\n") != 2 {
			t.Errorf("%s: exit code %d, %q", call, code, diag)
		}
	}
}
