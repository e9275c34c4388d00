package rlimit

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSetHard(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if refused, err := SetHard(cmd.Process.Pid, 100); refused || err != nil {
		t.Fatalf("lower the limit to 100: refused %v, %v", refused, err)
	}
	var now unix.Rlimit
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &now); err != nil || now.Max != 100 || now.Cur > 100 {
		t.Errorf("the limits are %+v, %v; want 100", now, err)
	}
	most := NrOpen()
	if most == 0 {
		t.Skip("no fs.nr_open")
	}
	refused, err := SetHard(cmd.Process.Pid, most+1)
	if errors.Is(err, ErrNotAllowed) {
		t.Skip(err)
	}
	if !refused || err != nil {
		t.Errorf("a limit of fs.nr_open + 1: refused %v, %v; want refused", refused, err)
	}
	if refused, err := SetHard(cmd.Process.Pid, most); refused || err != nil {
		t.Errorf("a limit of fs.nr_open: refused %v, %v; want allowed", refused, err)
	}
}
