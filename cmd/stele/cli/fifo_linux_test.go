package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing waits for the other end of a FIFO in place of a file of a log.
func TestInspectFIFO(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("log", 0o700); err != nil {
		t.Fatal(err)
	}
	meta, segment := filepath.Join("log", "META"), filepath.Join("log", "0000000000000001.wal")
	if err := errors.Join(unix.Mkfifo(meta, 0o600), unix.Mkfifo(segment, 0o600), unix.Mkfifo("alone", 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"log":   {segment + " is damaged", "it is a pipe", "move it away"},
		meta:    {meta + ": a pipe; want a regular file"},
		"alone": {"alone: a pipe; want a regular file"},
	} {
		code, _, diag := stele(t, "inspect", path, "--json", "-")
		if code != exitFailed {
			t.Errorf("%s: exit code %d", path, code)
		}
		for _, w := range want {
			if !strings.Contains(diag, w) {
				t.Errorf("%s: %q; want %q", path, diag, w)
			}
		}
	}
}

// A signal ends the wait for a run from a FIFO without a writer.
func TestReadFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "run.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := readRun(ctx, fifo, nil)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Release a goroutine that still waits in open(2).
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
