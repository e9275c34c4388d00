package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

const leaveEnv = "STELE_TEST_LEAVE"

// init is a process that leaves a temporary file in a directory.
func init() {
	dir := os.Getenv(leaveEnv)
	if dir == "" {
		return
	}
	if _, err := atomicfile.Create(filepath.Join(dir, "f"), 0o600, atomicfile.Options{Level: durability.Kill}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestSweep(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), leaveEnv+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	held, err := atomicfile.Create("a/held", 0o600, atomicfile.Options{Level: durability.Kill})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Abort()
	for _, c := range []struct {
		call, out, diag string
		code, left      int
	}{
		{call: "sweep", diag: "DIR: 0 arguments; want 1 or more", code: exitUsage, left: 3},
		{call: "sweep --wrong .", diag: "wrong", code: exitUsage, left: 3},
		{call: "sweep .", out: "removed 0, kept 0", left: 3},
		{call: "sweep -r -n .", out: "would remove a/b/.stele-", left: 3},
		{call: "sweep a", out: "kept a/.stele-", left: 3},
		{call: "sweep nowhere c", out: "removed c/.stele-", diag: "nowhere", code: exitFailed, left: 2},
		{call: "sweep --recursive --quiet .", left: 1},
		{call: "sweep --recursive --one-mount .", out: "locked by its writer", left: 1},
	} {
		code, out, diag := stele(t, strings.Fields(c.call)...)
		if code != c.code || !strings.Contains(out, c.out) || c.out == "" && out != "" || !strings.Contains(diag, c.diag) || c.diag == "" && diag != "" {
			t.Errorf("stele %s: exit code %d\n%s%s", c.call, code, out, diag)
		}
		if found := temps(t); len(found) != c.left {
			t.Errorf("stele %s leaves %q, want %d", c.call, found, c.left)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diag bytes.Buffer
	if code := execute(ctx, []string{"sweep", "."}, strings.NewReader(""), &out, &diag); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d: %s", code, diag.String())
	}
}

func temps(t *testing.T) (found []string) {
	t.Helper()
	for _, pattern := range []string{".stele-*", "*/.stele-*", "*/*/.stele-*"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	return found
}
