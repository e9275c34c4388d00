//go:build linux

package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/tempfile"
)

// program is stele as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), steleArgs+"="+strings.Join(args, "\n"), "GOCOVERDIR="+t.TempDir())
	return cmd
}

// flocked locks a file, for which the right to read it suffices.
func flocked(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}

// Ctrl-C ends a call that waits for a lock. The error names the file and the
// process that holds the lock.
func TestHeaderInterruptedAtALock(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a.go": "package a\n"})
	flocked(t, "a.go")
	holder := fmt.Sprintf("process %d (", os.Getpid())
	for _, args := range [][]string{
		{"header", "insert", "--lock-timeout", "0", "--text", "x", "."},
		{"header", "insert", "--lock-timeout", "0", "--level", "kill", "--text", "x", "a.go"},
		{"header", "insert", "--lock-timeout", "1h", "--raw", "--text", "x", "a.go"},
		{"header", "recover", "--lock-timeout", "0", "a.go"},
	} {
		var cmd *exec.Cmd
		var said bytes.Buffer
		for try := range 50 {
			cmd = program(t, args...)
			said.Reset()
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// It opens the file twice: to read its head, and to lock it. Stopped
			// before the second, it rightly says that it has not begun.
			waitsFor(t, cmd.Process.Pid, "a.go")
			time.Sleep(time.Duration(try) * 10 * time.Millisecond)
			begun := time.Now()
			cmd.Process.Signal(os.Interrupt)
			cmd.Wait()
			if d := time.Since(begun); d > time.Minute {
				t.Errorf("%q: %v after the signal", args, d)
			}
			if strings.Contains(said.String(), "locked by") {
				break
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(said.String(), "a.go: locked by "+holder) {
			t.Errorf("%q: exit code %d: %s", args, code, said.String())
		}
	}
	if got := snapshot(t)["a.go"]; got != "package a\n" {
		t.Errorf("a.go is %q", got)
	}
}

// waitsFor waits until a process has the file open.
func waitsFor(t *testing.T, pid int, name string) {
	t.Helper()
	want, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); to == want {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// A file that another process keeps locked is one failure.
func TestHeaderLockTimeout(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("f%d.go", i)] = "package a\n"
	}
	plant(t, files)
	flocked(t, "f7.go")
	code, out, diag := stele(t, call("insert", "--lock-timeout", "20ms", ".")...)
	if code != exitFailed || !strings.Contains(out, "19 inserted, 1 failed") || !strings.Contains(diag, "f7.go: locked by this process") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	if code, out, diag := stele(t, "header", "recover", "--lock-timeout", "20ms", "."); code != exitFailed || !strings.Contains(diag, "f7.go: locked by this process") || !strings.Contains(out, "20 files: 0 interrupted") {
		t.Errorf("recover: exit code %d: %s%s", code, out, diag)
	}
}

// Killed at any moment, a call leaves files that are old or new, and
// temporary ones, which recover removes.
func TestHeaderKilledAndRecovered(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	for _, how := range []string{"comments", "raw"} {
		t.Run(how, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if how == "raw" {
				recorded(t)
			}
			files, paths := map[string]string{}, []string{"."}
			for i := range 300 {
				files[fmt.Sprintf("d%d/f%d.go", i%7, i)] = "package a\n" + strings.Repeat("// a line of code\n", i*10)
			}
			plant(t, files)
			head := "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\n"
			args, undo := call("insert", "--level", "kill", "."), call("remove", "--level", "kill", ".")
			if how == "raw" {
				for name := range files {
					if len(paths) < 61 {
						paths = append(paths, name)
						args, undo = nil, nil
					}
				}
				paths = paths[1:]
				head = "head\n"
				args = append([]string{"header", "insert", "--raw", "--mode", "inplace", "--reserve", "1K", "--pad", "newline", "--level", "kill", "--text", "head"}, paths...)
				undo = append([]string{"header", "remove", "--raw", "--mode", "inplace", "--pad", "newline", "--level", "kill"}, paths...)
			}
			left, took := 0, 200*time.Millisecond
			for round := range 40 {
				cmd := program(t, args...)
				if round%2 == 1 {
					cmd = program(t, undo...)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				killed := time.AfterFunc(rand.N(took), func() { cmd.Process.Kill() })
				cmd.Wait()
				if killed.Stop() { // it was too fast
					took = time.Since(begun)
				}
				left += len(temporary(t))
				if code, out, diag := stele(t, "header", "recover", "."); code != exitOK {
					t.Fatalf("exit code %d: %s%s", code, out, diag)
				}
				if rest := temporary(t); len(rest) > 0 {
					t.Fatalf("left %q", rest)
				}
				for name, now := range snapshot(t) {
					for how == "raw" && strings.HasPrefix(now, head) { // once a round
						now = now[len(head):]
					}
					// In place there may be room, and padding in it.
					now = strings.TrimLeft(strings.TrimPrefix(now, head), "\n")
					if now != files[name] {
						t.Fatalf("round %d: %s is neither old nor new: %.100q", round, name, now)
					}
				}
			}
			t.Logf("%d temporary files were left, and removed", left)
		})
	}
}

// temporary lists the temporary files below the current directory.
func temporary(t *testing.T) (names []string) {
	for name := range snapshot(t) {
		if tempfile.Is(filepath.Base(name)) {
			names = append(names, name)
		}
	}
	return names
}

// A dry run of recover lists its changes, and makes none.
func TestHeaderRecoverDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"d/a.go": "package a\n"})
	dead := filepath.Join("d", tempfile.Name(tempfile.DefaultPattern))
	plant(t, map[string]string{dead: "x"})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dead, old, old); err != nil {
		t.Fatal(err)
	}
	// Its process, this one, lives: so it is kept.
	code, out, diag := stele(t, "header", "recover", "--dry-run", "-v", ".")
	if code != exitOK || !strings.Contains(out, "temporary file kept: ") || !strings.Contains(out, "1 file: 0 interrupted changes to be ended, 0 temporary files to be removed, 1 kept") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said strings.Builder
	if code := execute(ctx, []string{"header", "recover", "."}, nil, &said, &said); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d: %s", code, said.String())
	}
}

// --lock-timeout begins once another process has the lock: a file that is free is
// written, however long the files before it took.
func TestHeaderLockTimeoutOfFreeFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t)
	for _, args := range []string{
		"insert --text x", "replace --text y --marker x", "remove --marker y",
		"insert --raw --text x", "replace --raw --text y", "remove --raw", "recover",
		"insert --raw --mode inplace --reserve 1K --pad space --text x",
	} {
		plant(t, map[string]string{"a.go": "package a\n"})
		if strings.Contains(args, "--raw") && !strings.Contains(args, "insert") {
			if code, _, diag := stele(t, "header", "insert", "--raw", "--text", "x", "a.go"); code != exitOK {
				t.Fatal(diag)
			}
		}
		code, out, diag := stele(t, append([]string{"header"}, strings.Fields(args+" --lock-timeout 1ns a.go")...)...)
		if code != exitOK {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, diag)
		}
	}
	flocked(t, "a.go")
	for _, args := range []string{"insert --text z", "insert --raw --text x", "recover"} {
		code, out, diag := stele(t, append([]string{"header"}, strings.Fields(args+" --lock-timeout 1ns a.go")...)...)
		if code != exitFailed || !strings.Contains(diag, "a.go: locked by this process") {
			t.Errorf("%s of a locked file: exit code %d: %s%s", args, code, out, diag)
		}
	}
}
