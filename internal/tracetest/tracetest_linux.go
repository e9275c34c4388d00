package tracetest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	scenarioEnv = "STELE_TRACE_SCENARIO"
	rootEnv     = "STELE_TRACE_ROOT"
)

// init keeps TestMain on the first thread, the only one that strace follows
// without -f: so no call of the runtime's other threads gets in between.
func init() {
	if os.Getenv(scenarioEnv) != "" {
		runtime.LockOSThread()
	}
}

// Scenario tells a traced process what to run, and the directory to run it in.
// name is "" in all others.
func Scenario() (name, root string) { return os.Getenv(scenarioEnv), os.Getenv(rootEnv) }

// HandOver runs the scenario and exits, in a traced process; in all others it
// returns.
func HandOver(run func(name, root string) error) {
	name, root := Scenario()
	if name == "" {
		return
	}
	if err := run(name, root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Begin marks where the recording begins; the last such mark counts.
func Begin() { mark(beginMark) }

// End marks where the recording ends.
func End() { mark(endMark) }

const (
	beginMark = "/stele-trace-begin"
	endMark   = "/stele-trace-end"
	markCalls = ",faccessat,faccessat2"
)

// mark makes a call that nothing else makes, to be found in the trace.
func mark(path string) { unix.Faccessat(unix.AT_FDCWD, path, 0, 0) }

// Need skips the test if strace cannot trace the calls here.
func Need(t *testing.T, calls string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-y", "-e", "trace="+calls+markCalls, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v: %s", err, out)
	}
}

// A Run is a traced process.
type Run struct {
	Scenario string
	Root     string   // the directory it is given
	Calls    string   // the system calls to record, with commas between
	Inject   []string // faults, as strace's option inject takes them
	Env      []string // more of its environment
	Killed   bool     // it may be, by what is injected: then its exit code is below 0
}

// A Trace is what a traced process did.
type Trace struct {
	Raw  string // as strace wrote it
	Said string // its output
	Exit int    // its exit code
}

// Do runs the process. A process that did not exit by itself fails the test,
// unless it may be killed.
func (r Run) Do(t *testing.T) Trace {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "strace")
	args := []string{"-y", "-e", "signal=none", "-e", "trace=" + r.Calls + markCalls, "-o", out}
	for _, fault := range r.Inject {
		args = append(args, "-e", "inject="+fault)
	}
	cmd := exec.Command("strace", append(args, self)...)
	cmd.Env = append(os.Environ(), scenarioEnv+"="+r.Scenario, rootEnv+"="+r.Root, "GOCOVERDIR="+t.TempDir(),
		"GODEBUG=asyncpreemptoff=1", // a pending SIGURG ends copy_file_range and its like early
		"GORACE=atexit_sleep_ms=0")  // the race detector waits a second otherwise
	cmd.Env = append(cmd.Env, r.Env...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 && !r.Killed {
		t.Fatalf("%v: %s", err, said)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return Trace{Raw: string(raw), Said: string(said), Exit: cmd.ProcessState.ExitCode()}
}

// Golden runs the process, which must exit with 0, and compares what it did with
// calls, the number of calls by name unless nil, and with the golden file of the
// scenario. See the function Golden.
func (r Run) Golden(t *testing.T, calls map[string]int, update bool, rules ...Rule) {
	t.Helper()
	tr := r.Do(t)
	if tr.Exit != 0 {
		t.Fatal(tr.Said)
	}
	if n := tr.Count(); calls != nil && !maps.Equal(n, calls) {
		t.Errorf("calls %v, want %v", n, calls)
	}
	Golden(t, r.Scenario, tr.Normal(r.Root, rules...), update)
}

// A Call is one system call between the marks.
type Call struct {
	Name string
	Nth  int    // of its name since the process began, from 1 on, as strace counts
	Line string // as strace wrote it
}

// Calls returns those between the marks, in their order.
func (tr Trace) Calls() []Call {
	var calls []Call
	seen := map[string]int{}
	for line := range strings.Lines(tr.Raw) {
		name, _, _ := strings.Cut(line, "(")
		seen[name]++
		switch {
		case strings.Contains(line, beginMark):
			calls = nil
		case strings.Contains(line, endMark):
			return calls
		default:
			calls = append(calls, Call{name, seen[name], strings.TrimSuffix(line, "\n")})
		}
	}
	return calls
}

// Count returns how often each call was made between the marks.
func (tr Trace) Count() map[string]int {
	n := map[string]int{}
	for _, c := range tr.Calls() {
		n[c.Name]++
	}
	return n
}

// A Rule replaces what differs from run to run by what does not.
type Rule struct {
	Find   *regexp.Regexp
	By     string
	Groups bool // By names groups of Find, as $1; else it is taken as it is
}

var (
	procfd     = regexp.MustCompile(`"/proc/self/fd/\d+`)
	descriptor = regexp.MustCompile(`\b(?:\d+|AT_FDCWD)<([^>]*)>`)
	message    = regexp.MustCompile(`( \([^()]*\))+$`)
	padding    = regexp.MustCompile(`\)\s+= `)
)

// Normal returns the calls between the marks as golden files hold them, a
// line each: with ROOT for the directory root, names in place of descriptors,
// and the rules applied.
func (tr Trace) Normal(root string, rules ...Rule) string {
	var b strings.Builder
	for _, c := range tr.Calls() {
		line := strings.ReplaceAll(c.Line, root, "ROOT")
		line = procfd.ReplaceAllString(line, `"/proc/self/fd/N`)
		line = descriptor.ReplaceAllStringFunc(line, func(d string) string {
			if strings.HasPrefix(d, "AT_FDCWD") {
				return "AT_FDCWD"
			}
			return d[strings.IndexByte(d, '<'):]
		})
		for _, r := range rules {
			if r.Groups {
				line = r.Find.ReplaceAllString(line, r.By)
			} else {
				line = r.Find.ReplaceAllLiteralString(line, r.By)
			}
		}
		line = padding.ReplaceAllString(line, ") = ")
		line = message.ReplaceAllString(line, "")
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Golden compares got with testdata/NAME.trace, or writes that anew.
func Golden(t *testing.T, name, got string, update bool) {
	t.Helper()
	file := filepath.Join("testdata", name+".trace")
	if update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("system calls differ from %s (-update writes it anew)\ngot\n%swant\n%s", file, got, want)
	}
}
