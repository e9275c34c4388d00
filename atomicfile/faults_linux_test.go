package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
)

// faultScenarios have calls that depend on the file system and on who runs
// them, and so no golden trace.
var faultScenarios = []scenario{
	{name: "keep-attributes", prepare: func(dir string) (func() error, error) {
		path := filepath.Join(dir, "file")
		unix.Setxattr(path, "user.stele", []byte("x"), 0) // where there are such
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 1, 2); err != nil {
				return nil, err
			}
		}
		return byName(atomicfile.Options{Keep: atomicfile.KeepAll})(dir)
	}},
}

// faults are the ways in which each call is made to fail.
var faults = map[string][]string{
	"openat":          {"EMFILE", "ENOSPC"},
	"newfstatat":      {"EIO"},
	"fstat":           {"EIO"},
	"write":           {"ENOSPC", "EDQUOT", "EIO"},
	"fdatasync":       {"EIO", "ENOSPC", "EDQUOT"},
	"sync_file_range": {"EIO", "ENOSPC"},
	"syncfs":          {"EIO"},
	"fsync":           {"EIO"},
	"fchmod":          {"EPERM"},
	"fchown":          {"EPERM"},
	"renameat":        {"EIO", "ENOSPC"},
	"renameat2":       {"EIO"},
	"close":           {"EIO"},
	"flistxattr":      {"EIO"},
	"fgetxattr":       {"EIO"},
	"fsetxattr":       {"ENOSPC"},
	"fremovexattr":    {"EIO"},
	"readlinkat":      {"EIO"},
}

// A call is one between the marks.
type call struct {
	name string
	nth  int // of its name since the process began, from 1 on, as strace counts
	line string
}

func callsOf(raw string) []call {
	var calls []call
	seen := map[string]int{}
	for line := range strings.Lines(raw) {
		name, _, _ := strings.Cut(line, "(")
		seen[name]++
		switch {
		case strings.Contains(line, "/stele-trace-begin"):
			calls = nil
		case strings.Contains(line, "/stele-trace-end"):
			return calls
		default:
			calls = append(calls, call{name, seen[name], strings.TrimSpace(line)})
		}
	}
	return nil
}

// Every call fails in turn: the old content stays, whole, or the error says
// that the new is there; and no temporary file stays that Sweep does not
// remove.
func TestFaults(t *testing.T) {
	needStrace(t)
	for _, s := range slices.Concat(scenarios, faultScenarios) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			top := topOf(t, s)
			root := newRoot(t, top)
			raw, said, exit := trace(t, s, root, nil)
			if exit != exitOK {
				t.Fatal(said)
			}
			calls := callsOf(raw)
			if len(calls) < 2 {
				t.Fatalf("found the calls %v", calls)
			}
			for i, c := range calls {
				if faults[c.name] == nil {
					t.Errorf("no fault for %s", c.line)
				}
				for _, fault := range faults[c.name] {
					inject(t, s, top, calls, i, fault)
				}
			}
		})
	}
}

// inject fails one call of a scenario.
func inject(t *testing.T, s scenario, top string, calls []call, i int, fault string) {
	t.Helper()
	c := calls[i]
	root := newRoot(t, top)
	raw, said, exit := trace(t, s, root, nil, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", c.name, fault, c.nth))
	what := fmt.Sprintf("%s of %s", fault, c.line)
	if !slices.ContainsFunc(between(raw), func(l string) bool { return strings.Contains(l, "(INJECTED)") }) {
		t.Errorf("%s was not injected between the marks", what)
		return
	}
	var want string
	switch {
	case exit == exitFailed:
		want = s.old()
		if !strings.Contains(said, root) {
			t.Errorf("%s: the error %q does not name the path", what, said)
		}
	case exit == exitNotDurable && c.name == "fsync", exit == exitOK && harmless(c):
		want = "new"
	default:
		t.Errorf("%s: exit %d, %s", what, exit, said)
	}
	now := content(t, root)
	switch {
	case strings.HasPrefix(s.name, "batch"):
		// A fault of another file leaves this one free to go on.
		if now != "old" && now != "new" {
			t.Errorf("%s: the file holds %q", what, now)
		}
	case now != want:
		t.Errorf("%s: the file holds %q, want %q; %s", what, now, want, said)
	}
	if _, err := atomicfile.Sweep(root); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	noTemps(t, root)
}

// old is what "file" holds before.
func (s scenario) old() string {
	if strings.HasSuffix(s.name, "-new") {
		return noFile
	}
	return "old"
}

const noFile = "no file"

// harmless reports whether nothing is lost when this call fails: closing what
// was only read, a hint, or a look at what is then set anyway.
func harmless(c call) bool {
	switch c.name {
	case "close":
		return !tempFile.MatchString(c.line)
	case "sync_file_range":
		return strings.Contains(c.line, ", SYNC_FILE_RANGE_WRITE)")
	case "fgetxattr":
		return tempFile.MatchString(c.line)
	}
	return false
}

func content(t *testing.T, root string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "file"))
	if errors.Is(err, os.ErrNotExist) {
		return noFile
	}
	must(t, err)
	return string(b)
}

// Two faults: a temporary file that could not be removed either is left for
// Sweep, which removes it, as its writer is dead.
func TestFaultAndSweep(t *testing.T) {
	needStrace(t)
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == "dir" })
	root := newRoot(t, t.TempDir())
	_, _, exit := trace(t, scenarios[i], root, nil, "-e", "inject=fdatasync:error=EIO", "-e", "inject=unlinkat:error=EIO")
	if exit != exitFailed {
		t.Errorf("exit %d", exit)
	}
	s, err := atomicfile.Sweep(root)
	must(t, err)
	if len(s.Removed) != 1 || len(s.Left) != 0 {
		t.Errorf("swept %+v", s)
	}
	holds(t, filepath.Join(root, "file"), "old")
	only(t, root, "file")
}

// limitFileSize has the kernel write "n", and no more, of "new".
func limitFileSize() error {
	signal.Ignore(syscall.SIGXFSZ)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY})
}

// A write that the kernel breaks off in the middle leaves the old content.
func TestShortWrite(t *testing.T) {
	needStrace(t)
	for _, s := range scenarios {
		if s.name == "exchange" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			root := newRoot(t, topOf(t, s))
			raw, said, exit := trace(t, s, root, []string{traceEnv + "_LIMIT=1"})
			if !strings.Contains(raw, `"new", 3) `) || !strings.Contains(raw, "= -1 EFBIG") {
				t.Errorf("no short write in\n%s", raw)
			}
			if exit != exitFailed || !strings.Contains(said, syscall.EFBIG.Error()) {
				t.Errorf("exit %d, %s", exit, said)
			}
			if now := content(t, root); now != s.old() {
				t.Errorf("the file holds %q", now)
			}
			noTemps(t, root)
		})
	}
}
