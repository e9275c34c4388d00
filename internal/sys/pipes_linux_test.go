package sys_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/measure/uring"
	"github.com/stele-go/stele/internal/sys"
)

// No call here makes a pipe block: it stays with the poller.
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
		"StatFile":    func() error { _, err := sys.StatFile(w); return err },
		"OpenedFor":   func() error { _, err := sys.OpenedFor(w); return err },
		"WriteVec":    func() error { _, err := sys.WriteVec(w, []byte("x"), nil, 0, 0); return err },
		"Preallocate": func() error { return sys.Preallocate(w, 0, 1) },
		"SyncRange":   func() error { return sys.SyncRange(w, 0, 1) },
		"SyncData":    func() error { return sys.SyncData(w) },
		"SyncAll":     func() error { return sys.SyncAll(w) },
		"CopyOn":      func() error { _, err := sys.CopyOn(w, nil, raw, 1); return err },
		"Pread":       func() error { _, err := sys.Pread(r, make([]byte, 1), 0); return err },
		"PreadFlags":  func() error { _, err := sys.PreadFlags(r, make([]byte, 1), 0, sys.ReadNoWait); return err },
		"Fadvise":     func() error { return sys.Fadvise(r, 0, 1, sys.AdviseWillNeed) },
		"Mmap":        func() error { _, err := sys.Mmap(r, 1, false); return err },
		"NextData":    func() error { _, _, err := sys.NextData(r, 0, 1); return err },
		"TryLock":     func() error { _, err := sys.TryLock(r); return err },
		"Seal":        func() error { return sys.Seal(r) },
		"CachedBytes": func() error { _, err := pagecache.Cached(r); return err },
		"AIO": func() error {
			a, err := aio.New()
			if err != nil {
				return err
			}
			return errors.Join(a.WriteAt(w, []byte("x"), 0), a.Close())
		},
		"URing": func() error {
			u, err := uring.New(2)
			if err != nil {
				return err
			}
			defer u.Close()
			done := make([]uring.Completion, 1)
			for _, q := range []uring.Request{{Op: uring.Write, File: w, Buf: []byte("x")}, {Op: uring.Read, File: r, Buf: make([]byte, 1)}} {
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
			if flags := sys.FlagsOf(t, f); flags&unix.O_NONBLOCK == 0 {
				t.Fatalf("%s made the %s end of a pipe block", name, end)
			}
		}
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its deadline: %v", err)
	}
}
