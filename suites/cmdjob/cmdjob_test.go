package cmdjob

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs sh on Linux")
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"a b  c":             {"a", "b", "c"},
		` a 'b c' "d 'e'" `:  {"a", "b c", "d 'e'"},
		`a\ b ''`:            {"a b", ""},
		`x"y z"w`:            {"xy zw"},
		`'a\b' "a\"b"`:       {`a\b`, `a"b`},
		"tab\tand\nnew line": {"tab", "and", "new", "line"},
	} {
		if got, err := split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"'a", `"a`, `a\`} {
		if got, err := split(line); err == nil {
			t.Errorf("%q gave %q", line, got)
		}
	}
}

// What survives is derived from the system calls of one run.
func TestTry(t *testing.T) {
	needShell(t)
	s := Spec{Commands: []Command{
		{Name: "nothing", Line: "true; echo to standard error >&2"},
		{Name: "written", Line: "echo x >a"},
		{Name: "synced", Line: "dd if=/dev/zero of=a bs=4k count=1 conv=fsync"},
		{Name: "half", Line: "echo x >a; sync a; echo y >b"},
		{Name: "name", Line: "echo x >a; sync a; mv a b"},
		{Name: "prepared", Line: "cat a", Prepare: "echo x >a"},
	}}
	tried, err := s.Try(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(tried.Commands[0].Kept.Text, "cannot be seen") {
		t.Skip(tried.Commands[0].Kept.Text)
	}
	e, err := tried.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		writes bool
		level  durability.Level
		text   string
	}{
		{false, 0, "changes no file"},
		{true, durability.Kill, "no sync call seen: survives kill -9, not a power cut"},
		{true, durability.Power, "not checked further"},
		{true, durability.Kill, "not all that it writes (never synced: b)"},
		{true, durability.Kill, "no directory after it changed names"},
		{false, 0, "changes no file"},
	} {
		v, k := e.Variants[i], tried.Commands[i].Kept
		if v.Promise.Writes() != want.writes || want.writes && v.Promise.Level != want.level || !strings.Contains(k.Text, want.text) || !strings.Contains(v.Doc, "derived") {
			t.Errorf("%s: %v, %q; %q", v.Name, v.Promise, k.Text, v.Doc)
		}
		if k.MaxRSS <= 0 || k.MaxRSS > 16<<20 {
			t.Errorf("%s: a peak of %d bytes", v.Name, k.MaxRSS)
		}
	}
}

// A command that fails is an error with its exit code and the end of its standard
// error, unless that is to be ignored.
func TestFailure(t *testing.T) {
	needShell(t)
	s := Spec{Commands: []Command{{Name: "c", Line: "echo no such luck >&2; exit 7"}}}
	_, err := s.Try(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), `command "c": exit status 7: no such luck`) {
		t.Errorf("%v", err)
	}
	if _, err := blockOf(t, s, 1); err == nil || !strings.Contains(err.Error(), "exit status 7: no such luck") {
		t.Errorf("in a block: %v", err)
	}
	s.IgnoreFailure = true
	if _, err := s.Try(t.Context(), t.TempDir()); err != nil {
		t.Error(err)
	}
	if b, err := blockOf(t, s, 2); err != nil || b.Ops != 2 {
		t.Errorf("in a block: %d runs, %v", b.Ops, err)
	}
	s.Commands[0].Line, s.Commands[0].Prepare = "true", "echo not ready >&2; exit 1"
	if _, err := blockOf(t, s, 1); err == nil || !strings.Contains(err.Error(), "prepare: exit status 1: not ready") {
		t.Errorf("its preparation: %v", err)
	}
}

func blockOf(t *testing.T, s Spec, runs int64) (run.Block, error) {
	t.Helper()
	e, err := s.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	return lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), runs, 1)
}

// Each run has a directory of its own, preparation and cleanup see it and are not
// timed, and the figures are those of the command.
func TestBlock(t *testing.T) {
	needShell(t)
	log := filepath.Join(t.TempDir(), "log")
	s := Spec{Commands: []Command{{
		Name: "c", Prepare: "sleep 0.05; echo ready >ready", Cleanup: "sleep 0.05; ls $STELE_DIR >>" + log,
		Line: `test "$(ls)" = ready && test "$PWD" = "$STELE_DIR" && echo done >done`, Kept: Kept{MaxRSS: 5 << 20},
	}}}
	b, err := blockOf(t, s, 3)
	if err != nil {
		t.Fatal(err)
	}
	if b.Ops != 3 || b.Latency.Count() != 3 {
		t.Errorf("%d runs, %d latencies", b.Ops, b.Latency.Count())
	}
	if seen, err := os.ReadFile(log); err != nil || string(seen) != strings.Repeat("done\nready\n", 3) {
		t.Errorf("the cleanup saw %q, %v", seen, err)
	}
	// 300 ms were slept outside of the runs, whose latencies add up to the wall time.
	if sum := b.Latency.Mean() * 3; sum < 0.9*float64(b.Wall) || sum > 1.1*float64(b.Wall) {
		t.Errorf("three runs of %v on average, and a wall time of %v", time.Duration(b.Latency.Mean()), time.Duration(b.Wall))
	}
	if b.Metrics["peak_rss_bytes"] != 5<<20 || b.Metrics["cpu_user_ns_per_op"]+b.Metrics["cpu_sys_ns_per_op"] <= 0 || b.Metrics["minor_faults_per_op"] <= 0 {
		t.Errorf("metrics %v", b.Metrics)
	}
	if _, has := b.Metrics["allocs_per_op"]; has || b.Missing["allocs_per_op"] == (run.Reason{}) {
		t.Error("the allocations of this program are shown as those of the command")
	}
}

// A run that is interrupted leaves no process behind.
func TestBlockEnds(t *testing.T) {
	needShell(t)
	mark := filepath.Join(t.TempDir(), "pid")
	s := Spec{Commands: []Command{{Name: "c", Line: "sleep 600 & echo $! >" + mark + ".part; mv " + mark + ".part " + mark + "; wait"}}}
	ctx, cancel := context.WithCancel(t.Context())
	e, err := s.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := lab.RunOnce(ctx, &e, &e.Variants[0], t.TempDir(), 1, 1)
		ended <- err
	}()
	var pid []byte
	for pid == nil {
		time.Sleep(time.Millisecond)
		if pid, err = os.ReadFile(mark); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("an interrupted run is no error")
	}
	for dead := false; !dead; time.Sleep(time.Millisecond) { // the test's own limit ends it
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		dead = errors.Is(err, os.ErrNotExist) || strings.Contains(string(state), ") Z ")
	}
}

func TestFromEnv(t *testing.T) {
	needShell(t)
	want, err := Spec{Commands: []Command{{Name: "a", Line: "true"}, {Name: "b", Line: "false", Kept: Kept{Writes: true, Text: "x"}}}, Ops: 3}.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	key, value, _ := strings.Cut(want.Env[0], "=")
	t.Setenv(key, value)
	got, ok, err := FromEnv()
	if err != nil || !ok || got.ID() != want.ID() || got.Ops != 3 || len(got.Variants) != 2 || got.Variants[1].Promise != want.Variants[1].Promise {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	t.Setenv(key, "{")
	if _, ok, err := FromEnv(); !ok || err == nil {
		t.Error("a damaged variable is no error")
	}
}

func TestValidate(t *testing.T) {
	needShell(t)
	for want, s := range map[string]Spec{
		"COMMAND: none; want one or more": {},
		`name: "a"; want each name once`:  {Commands: []Command{{Name: "a", Line: "true"}, {Name: "a", Line: "false"}}},
		`COMMAND: " "; want a command`:    {Commands: []Command{{Name: "a", Line: " "}}},
		"executable file not found":       {Commands: []Command{{Name: "a", Line: "no-such-program x"}}, NoShell: true},
		"want a closing quote":            {Commands: []Command{{Name: "a", Line: "echo 'x"}}, NoShell: true},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
