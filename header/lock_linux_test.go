package header_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// lockedBy makes another process lock a file until the test ends or unlock is called.
// That needs only read permission.
func lockedBy(t *testing.T, name string) (pid int, unlock func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=lock", roleEnv+"_FILE="+name, "GOCOVERDIR="+t.TempDir())
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	unlock = func() {
		in.Close()
		cmd.Wait()
	}
	t.Cleanup(unlock)
	if n, err := out.Read(make([]byte, 1)); n != 1 {
		t.Fatalf("no lock: %v", err)
	}
	return cmd.Process.Pid, unlock
}

// playLock holds a lock until its input ends.
func playLock(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		return err
	}
	fmt.Print("!")
	os.Stdin.Read(make([]byte, 1))
	return f.Close()
}

// locking has each call that locks, by name.
var locking = map[string]func(ctx context.Context, name string) error{
	"insert":  func(ctx context.Context, n string) error { return second(header.Insert(ctx, n, top, kill)) },
	"replace": func(ctx context.Context, n string) error { return second(header.Replace(ctx, n, top, kill)) },
	"remove":  func(ctx context.Context, n string) error { return second(header.Remove(ctx, n, kill)) },
	"read":    func(ctx context.Context, n string) error { return second(header.Read(ctx, n, kill)) },
	"reserve": func(ctx context.Context, n string) error {
		return second(header.Reserve(ctx, n, 100, header.Options{Pad: header.PadByte(' ')}))
	},
	"swap": func(ctx context.Context, n string) error {
		return second(header.Swap(ctx, n, []byte("con"), top, inPlace))
	},
	"recover": func(ctx context.Context, n string) error { return second(header.Recover(ctx, n, kill)) },
}

// A lock held by another process ends a call only by its context. The error
// names the process, and the file is unchanged.
func TestLockedByAnother(t *testing.T) {
	for _, w := range places(t) {
		t.Run(w.name, func(t *testing.T) {
			name := write(t, w.dir, []byte("content\n"))
			pid, unlock := lockedBy(t, name)
			before := runtime.NumGoroutine()
			for op, do := range locking {
				for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
					if end == context.Canceled {
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(3*time.Millisecond, cancel)
					}
					err := do(ctx, name)
					cancel()
					locked, ok := errors.AsType[*header.LockedError](err)
					if !ok || !errors.Is(err, end) || locked.PID != pid || !strings.Contains(os.Args[0], locked.Command) || locked.Command == "" {
						t.Errorf("%s: %v; want %v, locked by process %d", op, err, end, pid)
					}
					if err != nil && !strings.Contains(err.Error(), name) {
						t.Errorf("%s: no path in %v", op, err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := do(ctx, name); err == nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%s with a context that is done: %v", op, err)
				}
			}
			if n := runtime.NumGoroutine(); n > before+2 { // timers of contexts may still end
				t.Errorf("%d goroutines, were %d", n, before)
			}
			holds(t, name, []byte("content\n"))
			done := make(chan error)
			go func() { done <- locking["insert"](t.Context(), name) }()
			unlock()
			must(t, <-done)
		})
	}
}

// A locked file does not delay the others of a tree.
func TestInsertAllLocked(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		_, names := manyFiles(t, 20)
		pid, _ := lockedBy(t, names[3])
		results, err := header.InsertAll(t.Context(), slices.Values(names), headOf, header.AllOptions{
			Options: header.Options{Level: level, LockWait: 2 * time.Millisecond}, Workers: 2,
		})
		if !errors.Is(err, context.DeadlineExceeded) || len(results) != len(names) {
			t.Errorf("%v: %d results, %v", level, len(results), err)
		}
		for i, r := range results {
			locked, is := errors.AsType[*header.LockedError](r.Err)
			if is != (i == 3) || is && locked.PID != pid || !is && r.Err != nil {
				t.Errorf("%+v", r)
			}
		}
	}
}

// A FIFO in the place of a file does not block a call.
func TestFIFOInstead(t *testing.T) {
	name := write(t, t.TempDir(), []byte("content\n"))
	fifo := name + ".fifo"
	must(t, syscall.Mkfifo(fifo, 0o666))
	stop := repeating(func() error { return exchange(name, fifo) })
	refused := 0
	for n := 0; n < 2000 || refused == 0 && n < 1_000_000; n++ {
		if _, err := header.Read(t.Context(), name, kill); errors.Is(err, os.ErrInvalid) {
			refused++
		}
	}
	must(t, stop())
	if refused == 0 {
		t.Skip("Read never met the FIFO")
	}
}
