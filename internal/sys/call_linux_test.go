package sys

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file that is closed during a call keeps its number until the call has
// ended, so that the call reaches no file that was opened meanwhile.
func TestWithFDKeepsTheDescriptor(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "ours"))
	if err != nil {
		t.Fatal(err)
	}
	var stranger *os.File
	err = withFD(f, func(fd int) error {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if stranger, err = os.Create(filepath.Join(dir, "stranger")); err != nil {
			t.Fatal(err)
		}
		_, err := unix.Pwrite(fd, []byte("text"), 0)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	defer stranger.Close()
	for name, want := range map[string]string{"ours": "text", "stranger": ""} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s has %q, %v; want %q", name, b, err, want)
		}
	}
	if err := withFD(f, func(int) error { t.Error("called with a closed file"); return nil }); err != os.ErrClosed {
		t.Errorf("a closed file: %v; want %v", err, os.ErrClosed)
	}
	if err := withFD(nil, func(int) error { t.Error("called with no file"); return nil }); err != os.ErrInvalid {
		t.Errorf("no file: %v; want %v", err, os.ErrInvalid)
	}
}

// Whatever is asked of a pipe here leaves it to the poller.
func TestPipesStayNonBlocking(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	raw, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"StatFile":    func() error { _, err := StatFile(w); return err },
		"OpenedFor":   func() error { _, err := OpenedFor(w); return err },
		"WriteVec":    func() error { _, err := WriteVec(w, []byte("x"), nil, 0, 0); return err },
		"Preallocate": func() error { return Preallocate(w, 0, 1) },
		"SyncRange":   func() error { return SyncRange(w, 0, 1) },
		"SyncData":    func() error { return SyncData(w) },
		"SyncAll":     func() error { return SyncAll(w) },
		"CopyOn":      func() error { _, err := CopyOn(w, nil, raw, 1); return err },
		"Pread":       func() error { _, err := Pread(r, make([]byte, 1), 0); return err },
		"PreadFlags":  func() error { _, err := PreadFlags(r, make([]byte, 1), 0, ReadNoWait); return err },
		"Fadvise":     func() error { return Fadvise(r, 0, 1, AdviseWillNeed) },
		"Mmap":        func() error { _, err := Mmap(r, 1, false); return err },
		"NextData":    func() error { _, _, err := NextData(r, 0, 1); return err },
		"TryLock":     func() error { _, err := TryLock(r); return err },
		"Seal":        func() error { return Seal(r) },
		"CachedBytes": func() error { _, err := CachedBytes(r); return err },
		"AIO": func() error {
			a, err := NewAIO()
			if err != nil {
				return err
			}
			return errors.Join(a.WriteAt(w, []byte("x"), 0), a.Close())
		},
		"URing": func() error {
			u, err := NewURing(2)
			if err != nil {
				return err
			}
			defer u.Close()
			done := make([]URingDone, 1)
			for _, q := range []URingRequest{{Op: URingWrite, File: w, Buf: []byte("x")}, {Op: URingRead, File: r, Buf: make([]byte, 1)}} {
				err = errors.Join(err, u.Push(q))
				_, werr := u.Wait(done, 1)
				err = errors.Join(err, werr, done[0].Err)
			}
			return err
		},
	} {
		t.Logf("%s: %v", name, ask())
		for end, f := range map[string]*os.File{"read": r, "write": w} {
			if err := f.SetDeadline(time.Now().Add(-time.Second)); err != nil {
				t.Errorf("after %s the %s end has no deadlines: %v", name, end, err)
			}
			if flags := flagsOf(t, f); flags&unix.O_NONBLOCK == 0 {
				t.Fatalf("%s made the %s end of a pipe block", name, end)
			}
		}
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read behind its deadline: %v", err)
	}
}

// flagsOf reads the flags of f and leaves them as they are.
func flagsOf(t *testing.T, f *os.File) (flags int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	cerr := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	if err := errors.Join(cerr, err); err != nil {
		t.Fatal(err)
	}
	return flags
}
