package cli

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// Commands are measured side by side; the run has their system calls, those of their
// processes, and what survives.
func TestBenchCmd(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs sh on Linux")
	}
	t.Chdir(t.TempDir())
	code, out, diag := stele(t, "bench", "cmd", "--name", "plain", "dd if=/dev/zero of=f bs=4k count=9", "--name", "synced", "dd if=/dev/zero of=f bs=4k count=9 conv=fsync",
		"--rounds", "6", "--runs", "2", "--json", "run.json", "--html", "run.html", "--progress", "none")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{"plain", "no sync call seen", "not checked further", "the start of sh", "memory"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	r, err := readRunFrom("run.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Results[0]
	for name, want := range map[string]struct {
		promise string
		fsyncs  float64
	}{"plain": {"kill, torn", 0}, "synced": {"power, torn", 1}} {
		v := res.Variant(name)
		if v.Promise.String() != want.promise || v.Syscalls["fsync"] != want.fsyncs || v.Syscalls["write"] < 9 || v.Metrics[run.MetricSyscalls].Median < 20 {
			t.Errorf("%s: %v, calls %v", name, v.Promise, v.Syscalls)
		}
	}
	if left, err := filepath.Glob("stele-bench-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestBenchCmdBadCalls(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs sh on Linux")
	}
	t.Chdir(t.TempDir())
	for call, want := range map[string]string{
		"":                       "COMMAND: none; want one or more, each in quotes",
		"true true":              `name: "true"; want each name once`,
		"true --name a --name b": "--name: 2 times; want at most as often as there are commands: 1",
		"true false --prepare a --prepare b --prepare c": "--prepare: 3 times; want once, or as often as there are commands: 2",
		"true --runs 2 --time 1s":                        "--runs and --time: want one of them",
		"--no-shell 'no-such-program'":                   "no-such-program",
		"--no-shell 'echo \"x'":                          "want a closing quote",
	} {
		code, _, diag := stele(t, append([]string{"bench", "cmd"}, words(call)...)...)
		if code != exitUsage || !strings.Contains(diag, want) {
			t.Errorf("%s: exit code %d, %q; want %q in it", call, code, diag, want)
		}
	}
	code, _, diag := stele(t, "bench", "cmd", "echo out of luck >&2; exit 3", "--html", "x.html", "--progress", "none")
	if code != exitFailed || !strings.Contains(diag, "exit status 3: out of luck") {
		t.Errorf("exit code %d, %q; want the exit code of the command and its words", code, diag)
	}
}
