package strace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// traced runs a shell command in a fresh directory.
func traced(t *testing.T, script string) Report {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	r, err := Run(t.Context(), Command{Path: sh, Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: os.Environ(), Files: true})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		script           string
		changed, durable bool
		unsynced         string // base names
		names            bool
	}{
		{"true", false, false, "", false},
		{"cat /etc/passwd >/dev/null", false, false, "", false},
		{"echo x >a", true, false, "a", false},
		{"dd if=/dev/zero of=a bs=4k count=2 conv=fsync 2>/dev/null", true, true, "", false},
		{"dd if=/dev/zero of=a bs=4k count=2 oflag=dsync 2>/dev/null", true, true, "", false},
		{"dd if=/dev/zero of=a bs=4k count=2 conv=fsync 2>/dev/null; echo x >>a", true, false, "a", false},
		{"echo x >a; echo y >b; sync a", true, false, "b", false},
		{"echo x >a; echo y >b; sync", true, true, "", false},
		{"echo x >a; rm a; sync .", true, true, "", false},
		{"echo x >a; sync a; mv a b", true, false, "", true},
		{"echo x >a; sync a; mv a b; sync .", true, true, "", false},
		{"mkdir d", true, false, "", true},
		{"(echo x >a) & wait", true, false, "a", false},
	} {
		r := traced(t, c.script)
		var names []string
		for _, u := range r.Unsynced {
			names = append(names, filepath.Base(u))
		}
		if r.State != "" || r.Changed != c.changed || r.Durable() != c.durable || strings.Join(names, " ") != c.unsynced || r.UnsyncedNames != c.names {
			t.Errorf("%s: %q, changed %v, durable %v, unsynced %q, names %v", c.script, r.State, r.Changed, r.Durable(), names, r.UnsyncedNames)
		}
	}
}

// The calls of all descendants are counted, and only theirs.
func TestRunCounts(t *testing.T) {
	one := traced(t, "dd if=/dev/zero of=a bs=4k count=20 2>/dev/null")
	five := traced(t, "for i in 1 2 3 4 5; do dd if=/dev/zero of=a bs=4k count=20 2>/dev/null; done")
	if w := one.Calls["write"]; w < 20 || w > 25 {
		t.Errorf("%d writes, want 20 and those of messages", w)
	}
	if w := five.Calls["write"]; w < 100 || w > 125 {
		t.Errorf("%d writes in five processes, want 100 and those of messages", w)
	}
	// A shell is smaller than this program, and dd with a block of 64 MiB is larger.
	if big := traced(t, "dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null"); five.Usage.MaxRSS <= 0 || five.Usage.MaxRSS > 8<<20 || big.Usage.MaxRSS < 64<<20 {
		t.Errorf("peaks of %d and %d bytes", five.Usage.MaxRSS, big.Usage.MaxRSS)
	}
}

func TestRunFails(t *testing.T) {
	if r := traced(t, "exit 3"); r.State != "exit status 3" {
		t.Errorf("state %q", r.State)
	}
	if r := traced(t, "kill -9 $$"); r.State != "signal: killed" {
		t.Errorf("state %q", r.State)
	}
	if _, err := Run(t.Context(), Command{Path: "/nowhere/x", Args: []string{"x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that does not exist: %v", err)
	}
}

func TestRunEnds(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
	_, err = Run(ctx, Command{Path: sh, Args: []string{"sh", "-c", "sleep 600 & sleep 600"}, Dir: t.TempDir()})
	if !errors.Is(err, stop) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want that it was stopped", err)
	}
}
