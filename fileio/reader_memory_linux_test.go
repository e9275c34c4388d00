package fileio_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/memory"
)

const limitedEnv = "STELE_FILEIO_LIMITED" // the file that this process opens in a group of its own

func init() {
	if name := os.Getenv(limitedEnv); name != "" {
		r, err := fileio.Open(name, fileio.Options{Pattern: fileio.Random})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		available, _ := memory.Available()
		fmt.Println(available, r.Way())
		os.Exit(0)
	}
}

// A process whose control group may use 512 MiB does not map a file of 400 MiB, however
// much memory the machine has.
func TestAutoRespectsTheControlGroup(t *testing.T) {
	const limit, size = 512 << 20, 400 << 20
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	if available, way := openInGroup(t, name, ""); way != "mapped" {
		t.Skipf("with %d bytes available, %s is chosen without a limit", available, way)
	}
	for version, files := range map[string]struct{ hierarchy, sign, limit string }{
		"v1": {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"},
		"v2": {"/sys/fs/cgroup", "cgroup.subtree_control", "memory.max"},
	} {
		t.Run(version, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(files.hierarchy, files.sign)); err != nil {
				t.Skip("no such hierarchy: ", err)
			}
			group := filepath.Join(files.hierarchy, "stele-test-"+strconv.Itoa(os.Getpid()))
			if err := os.Mkdir(group, 0o755); err != nil {
				t.Skip("no group can be made: ", err)
			}
			defer removeGroup(t, group)
			if err := os.WriteFile(filepath.Join(group, files.limit), strconv.AppendInt(nil, limit, 10), 0); err != nil {
				t.Skip("no limit of memory: ", err)
			}
			if available, way := openInGroup(t, name, group); available > limit || way != "buffered" {
				t.Errorf("%d bytes available of a limit of %d; the file is read by the way %s", available, limit, way)
			}
		})
	}
}

// removeGroup removes a control group once its processes have left it, which may be
// after their parent has waited for them.
func removeGroup(t *testing.T, group string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if procs, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil || len(procs) == 0 {
			break
		}
	}
	if err := os.Remove(group); err != nil {
		t.Error(err)
	}
}

// openInGroup returns how much memory a process has available, and how Auto
// opens the file in it. group is the directory of its control group, or "".
func openInGroup(t *testing.T, name, group string) (available int64, way string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	if group != "" {
		// The shell joins, so that the process is in the group from its start.
		cmd = exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" && exec "$2"`, "sh", group, os.Args[0])
	}
	cmd.Env = append(os.Environ(), limitedEnv+"="+name, "GOCOVERDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if group != "" && bytes.Contains(out, []byte("cgroup.procs")) {
		t.Skipf("the group cannot be joined: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	number, way, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if available, err = strconv.ParseInt(number, 10, 64); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return available, way
}
