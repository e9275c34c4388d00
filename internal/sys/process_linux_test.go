package sys

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	me, err := ThisProcess()
	if err != nil {
		t.Skip(err)
	}
	if start, err := StartOf(me.PID); err != nil || start != me.Start || start == 0 {
		t.Errorf("this process started at %d, and at %d, %v", me.Start, start, err)
	}
	if len(me.Boot) != 32 || me.Namespace == 0 {
		t.Errorf("%+v", me)
	}
	if _, err := StartOf(math.MaxInt32); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such process: %v", err)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	if start, err := StartOf(cmd.Process.Pid); err == nil && start == me.Start {
		t.Errorf("a process that has ended started at %d", start)
	}
}

// A process that was not waited for counts as ended.
func TestStartOfUnreaped(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	if start, err := StartOf(cmd.Process.Pid); err != nil || start == 0 {
		t.Errorf("it lives: %d, %v", start, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err = StartOf(cmd.Process.Pid); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("killed: %v", err)
}

func TestParseStart(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20"
	for _, name := range []string{"sh", "a b", "x) S 1 (y"} {
		if got, err := parseStart("12 (" + name + ")" + tail); err != nil || got != 777 {
			t.Errorf("%q: %d, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "12 sh S", "12 (sh) S 1 2"} {
		if got, err := parseStart(bad); err == nil {
			t.Errorf("%q gave %d", bad, got)
		}
	}
}
