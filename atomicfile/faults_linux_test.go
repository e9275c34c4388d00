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
	"github.com/stele-go/stele/internal/tracetest"
)

// faultScenarios have calls that depend on the file system and on the user, and so no
// golden trace.
var faultScenarios = []scenario{
	{name: "keep-attributes", prepare: func(dir string) (func() error, error) {
		path := filepath.Join(dir, "file")
		unix.Setxattr(path, "user.stele", []byte("x"), 0) // if the file system has attributes
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 1, 2); err != nil {
				return nil, err
			}
		}
		return byName(atomicfile.Options{Keep: atomicfile.KeepAll})(dir)
	}},
}

// faults are the errors injected into each call.
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
	"llistxattr":      {"EIO"},
	"lgetxattr":       {"EIO"},
	"fgetxattr":       {"EIO"},
	"fsetxattr":       {"ENOSPC"},
	"fremovexattr":    {"EIO"},
	"readlinkat":      {"EIO"},
	"symlinkat":       {"EIO", "EEXIST"},
	"flock":           {"ENOLCK", "EINTR", "EAGAIN"},
	"fstatfs":         {"EIO"},
	"fcntl":           {"EMFILE"},
}

// Every call fails in turn. The whole old content stays, or the error says that the
// new content is there. Sweep removes every temporary file that is left.
func TestFaults(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range slices.Concat(scenarios, faultScenarios) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			top := topOf(t, s)
			root := newRoot(t, top)
			tr := trace(t, s, root)
			if tr.Exit != exitOK {
				t.Fatal(tr.Said)
			}
			calls := tr.Calls()
			if len(calls) < 2 {
				t.Fatalf("found the calls %v", calls)
			}
			for _, c := range calls {
				if faults[c.Name] == nil {
					t.Errorf("no fault for %s", c.Line)
				}
				for _, fault := range faults[c.Name] {
					inject(t, s, top, c, fault)
				}
			}
		})
	}
}

// inject fails one call of a scenario.
func inject(t *testing.T, s scenario, top string, c tracetest.Call, fault string) {
	t.Helper()
	root := newRoot(t, top)
	tr := trace(t, s, root, fmt.Sprintf("%s:error=%s:when=%d", c.Name, fault, c.Nth))
	exit, said := tr.Exit, tr.Said
	what := fmt.Sprintf("%s of %s", fault, c.Line)
	if !slices.ContainsFunc(tr.Calls(), func(c tracetest.Call) bool { return strings.Contains(c.Line, "(INJECTED)") }) {
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
	case exit == exitNotDurable && c.Name == "fsync", exit == exitOK && (harmless(c) || c.Name == "symlinkat" && fault == "EEXIST"):
		want = "new"
	default:
		t.Errorf("%s: exit %d, %s", what, exit, said)
	}
	now := content(t, root)
	switch {
	case strings.HasPrefix(s.name, "batch"):
		// A fault of another file lets this one go on.
		if now != "old" && now != "new" {
			t.Errorf("%s: the file holds %q", what, now)
		}
	case now != want:
		t.Errorf("%s: the file holds %q, want %q; %s", what, now, want, said)
	}
	if _, err := atomicfile.Sweep(t.Context(), root, atomicfile.SweepOptions{}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	noTemps(t, root)
}

// old is the content of "file" before.
func (s scenario) old() string {
	if strings.HasSuffix(s.name, "-new") {
		return noFile
	}
	return "old"
}

const noFile = "no file"

// harmless reports whether nothing is lost when this call fails: a close of a file
// that was only read, a hint, or a read of a value that is then set anyway.
func harmless(c tracetest.Call) bool {
	switch c.Name {
	case "close", "flock", "fstatfs":
		return true // the content is synced by then, or on a disk of this machine
	case "sync_file_range":
		return strings.Contains(c.Line, ", SYNC_FILE_RANGE_WRITE)")
	case "fgetxattr":
		return tempFile.MatchString(c.Line)
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

// Two faults: a temporary file whose removal fails too is left. Sweep removes it,
// because its writer is dead.
func TestFaultAndSweep(t *testing.T) {
	tracetest.Need(t, traced)
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == "dir" })
	root := newRoot(t, t.TempDir())
	tr := trace(t, scenarios[i], root, "fdatasync:error=EIO", "unlinkat:error=EIO")
	if tr.Exit != exitFailed {
		t.Errorf("exit %d", tr.Exit)
	}
	s, err := atomicfile.Sweep(t.Context(), root, atomicfile.SweepOptions{})
	must(t, err)
	if len(s.Removed) != 1 || len(s.Kept) != 0 {
		t.Errorf("swept %+v", s)
	}
	holds(t, filepath.Join(root, "file"), "old")
	only(t, root, "file")
}

const limitEnv = "STELE_TRACE_LIMIT"

// limitFileSize makes the kernel write only "n" of "new".
func limitFileSize() error {
	signal.Ignore(syscall.SIGXFSZ)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY})
}

// A short write leaves the old content.
func TestShortWrite(t *testing.T) {
	tracetest.Need(t, traced)
	for _, s := range scenarios {
		if s.name == "exchange" || s.name == "symlink" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			root := newRoot(t, topOf(t, s))
			tr := do(t, tracetest.Run{Scenario: s.name, Root: root, Calls: traced, Env: []string{limitEnv + "=1"}})
			raw, said, exit := tr.Raw, tr.Said, tr.Exit
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

// A file system that accepts no name is not tried forever.
func TestNoNameFree(t *testing.T) {
	tracetest.Need(t, traced)
	for name, call := range map[string]string{"symlink": "symlinkat", "dir": "openat"} {
		s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
		calls := trace(t, s, newRoot(t, t.TempDir())).Calls()
		first := calls[slices.IndexFunc(calls, func(c tracetest.Call) bool { return c.Name == call })]
		root := newRoot(t, t.TempDir())
		tr := trace(t, s, root, fmt.Sprintf("%s:error=EEXIST:when=%d+", call, first.Nth))
		if tr.Exit != exitFailed || !strings.Contains(tr.Said, syscall.EEXIST.Error()) {
			t.Errorf("%s: exit %d, %s", name, tr.Exit, tr.Said)
		}
		if now := content(t, root); now != "old" {
			t.Errorf("%s: the file holds %q", name, now)
		}
		noTemps(t, root)
	}
}
