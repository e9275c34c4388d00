package cli

import (
	"runtime"
	"strings"
	"testing"
)

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
