package newfile_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/newfile"
)

func openPool(t testing.TB, limit int) *newfile.Pool {
	t.Helper()
	d, _ := open(t, kill)
	p, err := newfile.NewPool(d, limit)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// A file returns from the pool empty and at offset 0, whatever was done with it.
func TestPool(t *testing.T) {
	p := openPool(t, 1)
	for name, use := range map[string]func(s *newfile.Scratch) error{
		"nothing":  func(*newfile.Scratch) error { return nil },
		"write":    func(s *newfile.Scratch) error { _, err := s.Write([]byte("abc")); return err },
		"write at": func(s *newfile.Scratch) error { _, err := s.WriteAt([]byte("abc"), 10_000); return err },
		"seek":     func(s *newfile.Scratch) error { _, err := s.Seek(100, io.SeekStart); return err },
		"grow":     func(s *newfile.Scratch) error { return s.Truncate(1 << 20) },
	} {
		s, err := p.Get(t.Context())
		must(t, err)
		must(t, use(s))
		must(t, s.Close())
		s, err = p.Get(t.Context())
		must(t, err)
		if n, err := s.Size(); n != 0 || err != nil {
			t.Errorf("after %s the file has %d bytes, %v", name, n, err)
		}
		if pos, err := s.Seek(0, io.SeekCurrent); pos != 0 || err != nil {
			t.Errorf("after %s the file is at %d, %v", name, pos, err)
		}
		must(t, s.Close())
	}
}

func TestPoolReuses(t *testing.T) {
	p := openPool(t, 4)
	fds := openDescriptors(t)
	for range 10 {
		s, err := p.Get(t.Context())
		must(t, err)
		must(t, s.Close())
	}
	if now := openDescriptors(t); fds != 0 && now != fds+1 {
		t.Errorf("ten loans, one after the other, took %d descriptors", now-fds)
	}
}

func TestPoolBound(t *testing.T) {
	p := openPool(t, 2)
	a, err := p.Get(t.Context())
	must(t, err)
	b, err := p.Get(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third file: %v", err)
	}
	got := make(chan error)
	go func() {
		c, err := p.Get(t.Context())
		if err == nil {
			err = c.Close()
		}
		got <- err
	}()
	must(t, a.Close())
	must(t, <-got)
	must(t, b.Close())
	if _, err := newfile.NewPool(nil, 0); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a limit of 0: %v", err)
	}
}

// A closed Scratch no longer reaches the file.
func TestScratchAfterClose(t *testing.T) {
	p := openPool(t, 1)
	s, err := p.Get(t.Context())
	must(t, err)
	must(t, s.Close())
	next, err := p.Get(t.Context())
	must(t, err)
	defer next.Close()
	b := make([]byte, 1)
	for name, f := range map[string]func() error{
		"Read":     func() error { _, err := s.Read(b); return err },
		"Write":    func() error { _, err := s.Write(b); return err },
		"ReadAt":   func() error { _, err := s.ReadAt(b, 0); return err },
		"WriteAt":  func() error { _, err := s.WriteAt(b, 0); return err },
		"Seek":     func() error { _, err := s.Seek(0, 0); return err },
		"Truncate": func() error { return s.Truncate(1) },
		"Size":     func() error { _, err := s.Size(); return err },
		"Close":    s.Close,
	} {
		if err := f(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if n, err := next.Size(); n != 0 || err != nil {
		t.Errorf("the next user's file has %d bytes, %v", n, err)
	}
}

// Users that share a pool never see each other's data.
func TestPoolUsers(t *testing.T) {
	p := openPool(t, 3)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				s, err := p.Get(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				want := uint64(g<<32 | i)
				var b [8]byte
				if _, err := s.Read(b[:]); err != io.EOF {
					t.Errorf("a new file is not empty: %v", err)
				}
				binary.LittleEndian.PutUint64(b[:], want)
				s.Write(b[:])
				clear(b[:])
				if _, err := s.ReadAt(b[:], 0); err != nil || binary.LittleEndian.Uint64(b[:]) != want {
					t.Errorf("read %x, %v; want %x", b, err, want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestPoolClose(t *testing.T) {
	fds := openDescriptors(t)
	d, err := newfile.OpenDir(t.TempDir(), kill)
	must(t, err)
	p, err := newfile.NewPool(d, 3)
	must(t, err)
	a, err := p.Get(t.Context())
	must(t, err)
	b, err := p.Get(t.Context())
	must(t, err)
	must(t, a.Close())
	must(t, p.Close())
	if _, err := p.Get(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	_, err = b.Write([]byte("still lent"))
	must(t, err)
	must(t, b.Close())
	must(t, d.Close())
	if now := openDescriptors(t); now != fds {
		t.Errorf("%d descriptors before, %d after", fds, now)
	}
}

// Get from a warmed pool creates no file.
func TestPoolWarm(t *testing.T) {
	p := openPool(t, 4)
	fds := openDescriptors(t)
	must(t, p.Warm(t.Context(), 0))
	must(t, p.Warm(t.Context(), 3))
	must(t, p.Warm(t.Context(), 2)) // the pool has more
	if now := openDescriptors(t); fds != 0 && now != fds+3 {
		t.Errorf("warming with 3 files took %d descriptors", now-fds)
	}
	var lent []*newfile.Scratch
	for range 3 {
		s, err := p.Get(t.Context())
		must(t, err)
		lent = append(lent, s)
	}
	if now := openDescriptors(t); fds != 0 && now != fds+3 {
		t.Errorf("three loans from a warm pool took %d descriptors more", now-fds-3)
	}
	must(t, p.Warm(t.Context(), 4)) // files in use count
	if now := openDescriptors(t); fds != 0 && now != fds+4 {
		t.Errorf("%d descriptors, want 4", now-fds)
	}
	for _, s := range lent {
		must(t, s.Close())
	}
	for _, n := range []int{-1, 5} {
		if err := p.Warm(t.Context(), n); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Warm(%d): %v", n, err)
		}
	}
	cold := openPool(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cold.Warm(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, cold.Close())
	must(t, p.Close()) // it had enough files
	for _, closed := range []*newfile.Pool{cold, p} {
		for n := range 2 {
			if err := closed.Warm(t.Context(), n); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Warm(%d) of a closed pool: %v", n, err)
			}
		}
	}
}

// Users and Warm together never have more files than the limit.
func TestPoolWarmBeside(t *testing.T) {
	const limit = 5
	p := openPool(t, limit)
	fds := openDescriptors(t)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for range 50 {
				if g < 2 {
					if err := p.Warm(t.Context(), limit); err != nil {
						t.Error(err)
					}
					continue
				}
				s, err := p.Get(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if now := openDescriptors(t); fds != 0 && now != fds+limit {
		t.Errorf("%d files, want %d", now-fds, limit)
	}
}
