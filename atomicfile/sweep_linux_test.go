package atomicfile_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
)

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	own, old, dead, foreign := atomicfile.TempName(), atomicfile.OldTempName(), atomicfile.DeadTempName(), atomicfile.ForeignTempName()
	others := []string{"f", ".stele-1-1-1-0123456789abcdef-1-00000000.tmp", "stele-"}
	for _, name := range append([]string{own, old, dead, foreign}, others...) {
		put(t, dir, name, "x")
	}
	aFolder := "d" + atomicfile.OldTempName()
	must(t, os.Mkdir(filepath.Join(dir, aFolder), 0o755))
	must(t, os.Symlink("f", filepath.Join(dir, "l"+old)))

	s, err := atomicfile.Sweep(dir)
	must(t, err)
	want, left := []string{old, dead}, []string{own, foreign}
	if !local(t, dir) {
		want, left = []string{dead}, append(left, old)
	}
	slices.Sort(want)
	if !slices.Equal(s.Removed, want) {
		t.Errorf("removed %q, want %q", s.Removed, want)
	}
	only(t, dir, append(append(others, left...), aFolder, "l"+old)...)
	if len(s.Left) != len(left) {
		t.Errorf("left %+v", s.Left)
	}
	if _, err := atomicfile.Sweep(filepath.Join(dir, "no")); !os.IsNotExist(err) {
		t.Errorf("no folder: %v", err)
	}
}

func local(t *testing.T, dir string) bool {
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	return slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC}, int64(st.Type))
}

const sweepEnv = "STELE_SWEEP_DIR"

// writeUntilKilled is the process that Sweep finds alive, and then dead.
func writeUntilKilled(dir string) error {
	f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o600, atomicfile.Options{})
	if err != nil {
		return err
	}
	defer f.Abort()
	fmt.Println("writing")
	_, err = bufio.NewReader(os.Stdin).ReadByte()
	return err
}

// A live writer's file is left, whoever sweeps; a dead one's is removed.
func TestSweepProcess(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), sweepEnv+"="+dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "writing\n" {
		t.Fatalf("%q, %v", line, err)
	}
	s, err := atomicfile.Sweep(dir)
	must(t, err)
	if len(s.Removed) != 0 || len(s.Left) != 1 || !strings.Contains(s.Left[0].Why, fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("while it writes: %+v", s)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	s, err = atomicfile.Sweep(dir)
	must(t, err)
	if len(s.Removed) != 1 || len(s.Left) != 0 {
		t.Errorf("after its death: %+v", s)
	}
	only(t, dir)
}
