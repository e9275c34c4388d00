package uring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

func TestPollable(t *testing.T) {
	dir := t.TempDir()
	queue := func(device, polls string) string {
		d := filepath.Join(dir, device)
		if err := os.MkdirAll(filepath.Join(d, "queue"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "queue", "io_poll"), []byte(polls+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return d
	}
	with, without := queue("nvme0n1", "1"), queue("vda", "0")
	part := filepath.Join(with, "nvme0n1p1")
	if err := os.MkdirAll(part, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(part, "partition"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{with: "", part: "", without: "device vda has no queues for polling", filepath.Join(dir, "none"): "no single block device"} {
		err := pollable(link)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", link, err)
		case want != "" && (!errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", link, err, want)
		}
	}
}

// WaitUntil returns at its time though the request has not ended, and a later one
// still gets the result.
func TestWaitUntil(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	ring, err := New(2)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil { // blocking: the read waits
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	defer w.Close()
	if err := ring.Push(Request{Op: Read, File: r, Buf: make([]byte, 1), Offset: -1, Tag: 7}); err != nil {
		t.Fatal(err)
	}
	done := make([]Completion, 2)
	begun := time.Now()
	n, err := ring.WaitUntil(done, 1, begun.Add(20*time.Millisecond))
	if n != 0 || err != nil || time.Since(begun) < 20*time.Millisecond {
		t.Errorf("nothing was written: %d completions, %v after %v; want 0 after 20 ms", n, err, time.Since(begun))
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err = ring.WaitUntil(done, 1, time.Now().Add(time.Minute)); n != 1 || err != nil || done[0].Tag != 7 || done[0].Err != nil {
		t.Errorf("%d completions, %v, %+v; want that of the read", n, err, done[0])
	}
}

// A write and the fsync after it, both through the ring.
func TestFsync(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	ring, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := make([]Completion, 1)
	for _, q := range []Request{{Op: Write, File: f, Buf: []byte("abc")}, {Op: Fsync, File: f}} {
		if err := ring.Push(q); err != nil {
			t.Fatal(err)
		}
		if n, err := ring.Wait(done, 1); n != 1 || err != nil || done[0].Err != nil {
			t.Fatalf("%v: %d completions, %v, %+v", q.Op, n, err, done[0])
		}
	}
}

// A polled ring reads and writes where the device can be polled, and Pollable says
// so where it cannot.
func TestPolledRing(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if err := Pollable(f); err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ring, err := NewPolled(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	if err := ring.Push(Request{Op: Read, File: f, Buf: sys.AlignedBuffer(4096, 4096)}); err != nil {
		t.Fatal(err)
	}
	done := make([]Completion, 1)
	if n, err := ring.Wait(done, 1); n != 1 || err != nil || done[0].Err != nil || done[0].N != 4096 {
		t.Errorf("%d completions, %v, %+v", n, err, done[0])
	}
}
