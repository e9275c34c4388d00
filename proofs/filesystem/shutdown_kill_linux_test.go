package filesystem_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// What each of the weaker rigs sees, and what it does not see.

func TestShutdown(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			o := power.Options{FS: fs, Seed: prove.Seed(t), Prepare: oldBlocks}
			run := func(flags int, sync func(*os.File) error) power.Result {
				return powertest.Shutdown(t, o, 4, newBlocks(flags, sync), checkBlocks)
			}
			if res := run(0, fdatasync); len(res.Lost) > 0 {
				t.Errorf("write and fdatasync: %v", res)
			}
			if res := run(0, noSync); len(res.Lost) != res.Cuts {
				t.Errorf("write, no sync: it is not caught: %v", res)
			}
			// The reason for the write log.
			if res := run(syscall.O_DIRECT, noSync); len(res.Lost) > 0 {
				t.Errorf("O_DIRECT, no flush, is caught: %v; then say so in the documentation", res)
			}
		})
	}
}

// A kill loses what is acknowledged before it is written, and nothing else.
func TestKillLate(t *testing.T) {
	var res power.Result
	for pause := 50 * time.Millisecond; pause < 10*time.Second; pause *= 5 {
		if res = killLate(t, pause); len(res.Lost) > 0 {
			break
		}
	}
	if t.Log(res); len(res.Lost) == 0 {
		t.Error("it is not caught")
	}
}

// killLate kills work that writes what it has acknowledged after a pause, which
// should be longer than the kill takes: on a busy machine that takes long.
func killLate(t *testing.T, pause time.Duration) power.Result {
	t.Helper()
	const told = "STELE_CRASHTEST_PAUSE" // to the process that is killed
	if s := os.Getenv(told); s != "" {
		var err error
		if pause, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(told, pause.String())
	return powertest.Kill(t, 4, prove.Seed(t), func(dir string, ack func(int)) error {
		var buf bytes.Buffer
		for i := range 100 {
			fmt.Fprintln(&buf, i)
			ack(i)
		}
		time.Sleep(pause)
		return os.WriteFile(filepath.Join(dir, "lines"), buf.Bytes(), 0o600)
	}, func(dir string, acked []int) error {
		b, err := os.ReadFile(filepath.Join(dir, "lines"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if lines := bytes.Count(b, []byte("\n")); lines < len(acked) {
			return fmt.Errorf("%d lines of %d: %w", lines, len(acked), prove.ErrLost)
		}
		return nil
	})
}
