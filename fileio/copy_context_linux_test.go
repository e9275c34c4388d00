package fileio_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/fileio"
)

// A pair is two connected files: bytes written to w are read from r.
type pair struct{ r, w *os.File }

func pairs(t *testing.T) map[string]pair {
	t.Helper()
	pr, pw, err := os.Pipe()
	ok(t, err)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	ok(t, err)
	dir := t.TempDir()
	ok(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	fr, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR, 0)
	ok(t, err)
	fw, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR, 0)
	ok(t, err)
	all := map[string]pair{
		"pipe":   {pr, pw},
		"socket": {os.NewFile(uintptr(fds[0]), "socket 0"), os.NewFile(uintptr(fds[1]), "socket 1")},
		"fifo":   {fr, fw},
	}
	t.Cleanup(func() {
		for _, p := range all {
			p.r.Close()
			p.w.Close()
		}
	})
	return all
}

// ends calls copies with a context that is cancelled once the copy waits in the kernel,
// or is about to, and fails the test unless the copy then ends.
func ends(t *testing.T, copies func(context.Context) error, waits func(), files ...*os.File) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- copies(ctx) }()
	waits()
	cancel()
	err := <-ended
	if !errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v; want %v", err, context.Canceled)
	}
	for _, f := range files {
		if !strings.Contains(err.Error(), f.Name()) {
			t.Errorf("%v does not name %s", err, f.Name())
		}
	}
}

// A context ends the wait for the other end of a pipe or socket, and both files stay
// usable.
func TestCopyEndsWithItsContext(t *testing.T) {
	for name, p := range pairs(t) {
		t.Run(name+"/from", func(t *testing.T) {
			for _, sparse := range []bool{false, true} {
				for _, n := range []int64{-1, 1 << 20} {
					dst := create(t)
					ends(t, func(ctx context.Context) (err error) {
						if n < 0 {
							_, err = fileio.Copy(ctx, dst, p.r, fileio.CopyOptions{Sparse: sparse})
						} else {
							_, err = fileio.CopyN(ctx, dst, p.r, n, fileio.CopyOptions{Sparse: sparse})
						}
						return err
					}, func() {
						_, err := p.w.WriteString("some")
						ok(t, err)
						for { // until all is copied: the next read waits
							if info, err := dst.Stat(); err != nil || info.Size() >= 4 {
								break
							}
							time.Sleep(time.Millisecond)
						}
					}, p.r, dst)
				}
			}
			nonBlocking(t, p.r)
			_, err := p.w.WriteString("more")
			ok(t, err)
			b := make([]byte, 4)
			if _, err := io.ReadFull(p.r, b); err != nil || string(b) != "more" {
				t.Errorf("the bytes after it: %q, %v", b, err)
			}
		})
		t.Run(name+"/to", func(t *testing.T) {
			src := create(t)
			ok(t, src.Truncate(8<<20)) // more than a pipe or a socket holds
			var done fileio.CopyResult
			ends(t, func(ctx context.Context) (err error) {
				done, err = fileio.Copy(ctx, p.w, src, fileio.CopyOptions{})
				return err
			}, func() {
				_, err := io.ReadFull(p.r, make([]byte, 1))
				ok(t, err)
			}, p.w, src)
			nonBlocking(t, p.w)
			at, err := src.Seek(0, io.SeekCurrent)
			ok(t, err)
			if at != done.Bytes {
				t.Errorf("%d bytes are in the pipe, and the source is at %d", done.Bytes, at)
			}
			if _, err := io.CopyN(io.Discard, p.r, done.Bytes-1); err != nil {
				t.Errorf("what was written: %v", err)
			}
			_, err = p.w.WriteString("more")
			ok(t, err)
		})
	}
}

// A deadline of the caller holds while ctx is not done.
func TestCopyLeavesDeadlines(t *testing.T) {
	r, w, err := os.Pipe()
	ok(t, err)
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ok(t, r.SetReadDeadline(time.Now()))
	for range 2 { // a copy does not clear it
		if _, err := fileio.Copy(ctx, create(t), r, fileio.CopyOptions{}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	}
	cancel()
	if _, err := fileio.Copy(ctx, create(t), r, fileio.CopyOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a context that was done before has cleared it:", err)
	}
}

// Files without deadlines are copied until ctx is done, too.
func TestCopyOfFilesWithoutDeadlines(t *testing.T) {
	zero, err := os.Open("/dev/zero")
	ok(t, err)
	defer zero.Close()
	ctx, cancel := context.WithCancel(t.Context())
	pieces := 0
	done, err := fileio.Copy(ctx, create(t), zero, fileio.CopyOptions{Trace: func(fileio.Op) {
		if pieces++; pieces == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || pieces != 3 || done.Bytes == 0 {
		t.Errorf("%d pieces, %+v, %v", pieces, done, err)
	}
}

// The file of a connection has deadlines.
func TestCopyOfAConnection(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	ours, err := net.Dial("unix", l.Addr().String())
	ok(t, err)
	defer ours.Close()
	f, err := ours.(*net.UnixConn).File()
	ok(t, err)
	defer f.Close()
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		t.Skip(err)
	}
	dst := create(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := fileio.Copy(ctx, dst, f, fileio.CopyOptions{})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
