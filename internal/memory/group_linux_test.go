package memory

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stele-go/stele/internal/sys"
)

// joinEnv is the directory of the group that this process joins.
const joinEnv = "STELE_MEMORY_JOIN"

func init() {
	dir := os.Getenv(joinEnv)
	if dir == "" {
		return
	}
	if err := Join(dir); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("joined")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the end of it
	os.Exit(0)
}

// A group counts the memory of the process that joins it, takes a limit, and is gone once it
// is removed.
func TestGroup(t *testing.T) {
	g, err := NewGroup("stele-test-" + strconv.Itoa(os.Getpid()))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), joinEnv+"="+g.Dir(), "GOCOVERDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Error("the process did not join: ", err)
	}
	if err := os.Remove(g.Dir()); err == nil {
		t.Error("a group with a process in it was removed")
	}
	if used, err := g.Used(); err != nil || used < 0 {
		t.Errorf("%d bytes are used, %v", used, err)
	}
	const limit = 64 * mib
	if err := g.Limit(limit); err != nil {
		t.Error(err)
	}
	if n, _, _ := leftOf(g); n > limit {
		t.Errorf("%d bytes are left of a limit of %d", n, limit)
	}
	if err := errors.Join(hold.Close(), cmd.Wait(), g.Remove()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
}

func leftOf(g *Group) (left int64, limited, last bool) {
	if g.files == filesOf["cgroup2"] {
		return leftV2(g.dir)
	}
	return leftV1(g.dir)
}

// Where no hierarchy limits memory, no group can be made, and nothing is left of it.
func TestNoGroup(t *testing.T) {
	if _, err := newGroup(nil, "group"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want an unsupported error", err)
	}
	root := t.TempDir()
	if _, err := newGroup([]sys.MountPoint{{FS: "cgroup2", Path: root}}, "group"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a hierarchy without a controller of memory: %v", err)
	}
	if list, err := os.ReadDir(root); err != nil || len(list) > 0 {
		t.Errorf("%d entries are left, %v", len(list), err)
	}
}
