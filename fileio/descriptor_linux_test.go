package fileio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
)

// Closing the file of a Writer ends the Writer. A file that is opened later with the
// same descriptor number gets none of its bytes.
func TestWriterNeverWritesToAStranger(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for round := range rounds {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "ours"))
		ok(t, err)
		w, err := fileio.NewWriter(f, fileio.WriterOptions{Policy: fileio.Never()})
		ok(t, err)
		started, ended := make(chan struct{}), make(chan error)
		go func() {
			close(started)
			for {
				if _, err := w.Write(record); err != nil {
					ended <- err
					return
				}
				if err := w.Flush(); err != nil {
					ended <- err
					return
				}
			}
		}()
		<-started
		ok(t, f.Close())
		var strangers []*os.File
		for i := range 3 {
			s, err := os.Create(filepath.Join(dir, fmt.Sprint("stranger", i)))
			ok(t, err)
			strangers = append(strangers, s)
		}
		if err := <-ended; !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), f.Name()) {
			t.Fatalf("round %d: %v; want one of %s that is %v", round, err, f.Name(), os.ErrClosed)
		}
		for _, s := range strangers {
			if b, err := os.ReadFile(s.Name()); err != nil || len(b) > 0 {
				t.Fatalf("round %d: a stranger has %d bytes, %v", round, len(b), err)
			}
			ok(t, s.Close())
		}
		if err := w.Close(); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("round %d: Close: %v", round, err)
		}
		ok(t, os.RemoveAll(dir))
	}
}

// nonBlocking fails the test unless f stays with the runtime's poller.
func nonBlocking(t *testing.T, f *os.File) {
	t.Helper()
	raw, err := f.SyscallConn()
	ok(t, err)
	var flags uintptr
	var e syscall.Errno
	ok(t, raw.Control(func(fd uintptr) { flags, _, e = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0) }))
	if e != 0 || flags&syscall.O_NONBLOCK == 0 {
		t.Errorf("the pipe blocks: flags %#x, %v", flags, e)
	}
}

// A Close or a deadline of a pipe ends a copy that waits for its other end. The pipe
// stays non-blocking.
func TestCopyOfAPipeThatStalls(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(name, make([]byte, 4<<20), 0o666)) // more than a pipe holds
	copies := map[string]func(r, w, f *os.File) (*os.File, func() error){
		"to": func(r, w, f *os.File) (*os.File, func() error) {
			return w, func() error { _, err := fileio.Copy(context.Background(), w, f, fileio.CopyOptions{}); return err }
		},
		"from": func(r, w, f *os.File) (*os.File, func() error) {
			return r, func() error { _, err := fileio.Copy(context.Background(), f, r, fileio.CopyOptions{}); return err }
		},
		"from sparse": func(r, w, f *os.File) (*os.File, func() error) {
			return r, func() error {
				_, err := fileio.Copy(context.Background(), f, r, fileio.CopyOptions{Sparse: true})
				return err
			}
		},
		"CopyN from": func(r, w, f *os.File) (*os.File, func() error) {
			return r, func() error {
				_, err := fileio.CopyN(context.Background(), f, r, 1<<20, fileio.CopyOptions{})
				return err
			}
		},
		"ReadFrom": func(r, w, f *os.File) (*os.File, func() error) {
			return r, func() error {
				to, err := fileio.NewWriter(f, fileio.WriterOptions{})
				if err != nil {
					return err
				}
				_, err = to.ReadFrom(r)
				return errors.Join(err, to.Close())
			}
		},
		"WriteTo": func(r, w, f *os.File) (*os.File, func() error) {
			return w, func() error {
				from, err := fileio.Open(f.Name(), fileio.Options{})
				if err != nil {
					return err
				}
				_, err = from.WriteTo(w)
				return errors.Join(err, from.Close())
			}
		},
	}
	for kind, with := range copies {
		for how, end := range map[string]struct {
			stop func(f *os.File) error
			want error
		}{
			"closed":   {(*os.File).Close, os.ErrClosed},
			"deadline": {func(f *os.File) error { return f.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				r, w, err := os.Pipe()
				ok(t, err)
				defer r.Close()
				defer w.Close()
				f, err := os.OpenFile(name, os.O_RDWR, 0)
				ok(t, err)
				defer f.Close()
				ours, copies := with(r, w, f)
				ended := make(chan error, 1)
				go func() { ended <- copies() }()
				if ours == w { // the copy has begun, and the pipe will soon be full
					_, err := io.ReadFull(r, make([]byte, 1))
					ok(t, err)
				} else {
					_, err := w.Write([]byte("some"))
					ok(t, err)
				}
				ok(t, end.stop(ours))
				if err := <-ended; !errors.Is(err, end.want) {
					t.Errorf("%v; want %v", err, end.want)
				}
				if how == "deadline" {
					nonBlocking(t, ours)
				}
			})
		}
	}
}
