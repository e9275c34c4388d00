package newfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// A Pool lends scratch files: empty files without a name, that are emptied and
// lent again when their user closes them. It may be used by many goroutines
// at once.
//
// No file is ever lent to two users. A Scratch is made anew for each loan and
// is of no more use once it is closed, so that who goes on using it gets
// fs.ErrClosed and not somebody else's data.
//
// Nothing survives of a scratch file (durability.None).
type Pool struct {
	d     *Dir
	slots chan struct{} // one for each file that is lent

	mu     sync.Mutex
	idle   []*File // the one used last is lent first: its metadata is in the cache
	closed bool
}

// NewPool makes a pool of at most limit files, made in the folder of d as they
// are needed. A limit above the soft limit on descriptors is refused with a
// *LimitError. Close the pool before d.
func NewPool(d *Dir, limit int) (*Pool, error) {
	if limit < 1 {
		return nil, fmt.Errorf("newfile: pool: %w: a limit of %d files", fs.ErrInvalid, limit)
	}
	if soft, hard, err := sys.FileLimits(); err == nil && uint64(limit) > soft {
		return nil, fmt.Errorf("newfile: pool of %d files: %w", limit, &LimitError{Err: syscall.EMFILE, Soft: soft, Hard: hard})
	}
	return &Pool{d: d, slots: make(chan struct{}, limit)}, nil
}

// Get lends an empty file, open for reading and writing at its head. While
// limit files are lent it waits. Its error is that of ctx, fs.ErrClosed after
// Close, or that of Anonymous.
func (p *Pool) Get(ctx context.Context) (*Scratch, error) {
	if ctx.Err() != nil {
		return nil, fail("create", p.d.name, ctxErr(ctx))
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fail("create", p.d.name, ctxErr(ctx))
	}
	f, err := p.take()
	if err != nil {
		<-p.slots
		return nil, err
	}
	return &Scratch{pool: p, file: f}, nil
}

func (p *Pool) take() (*File, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fail("create", p.d.name, fs.ErrClosed)
	}
	if n := len(p.idle); n > 0 {
		f := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return f, nil
	}
	p.mu.Unlock()
	return Anonymous(p.d, 0o600)
}

// give takes f back, empty, unless the pool is closed.
func (p *Pool) give(f *File) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return f.Close()
	}
	p.idle = append(p.idle, f)
	p.mu.Unlock()
	return nil
}

// Close closes the files that are not lent, and each other one when its user
// closes it. Every later Get fails with fs.ErrClosed; one that waits gets that
// when a file comes back.
func (p *Pool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, f := range idle {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// A Scratch is a file on loan from a Pool. Its methods do what those of
// os.File do, until it is closed; then they fail with fs.ErrClosed.
type Scratch struct {
	pool *Pool

	mu   sync.RWMutex // read-held while file is in use, so that Close waits
	file *File        // nil once closed
	used atomic.Bool  // has content, or is not at its head
}

var _ interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.Closer
} = (*Scratch)(nil)

// with calls f with the file.
func (s *Scratch) with(op string, f func(*File) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return fail(op, s.pool.d.name, fs.ErrClosed)
	}
	s.used.Store(true)
	return f(s.file)
}

// Read reads from the offset on.
func (s *Scratch) Read(b []byte) (n int, err error) {
	err = s.with("read", func(f *File) (err error) { n, err = f.Read(b); return err })
	return n, err
}

// Write writes at the offset.
func (s *Scratch) Write(b []byte) (n int, err error) {
	err = s.with("write", func(f *File) (err error) { n, err = f.Write(b); return err })
	return n, err
}

// ReadAt reads at off, whatever the offset is.
func (s *Scratch) ReadAt(b []byte, off int64) (n int, err error) {
	err = s.with("read", func(f *File) (err error) { n, err = f.ReadAt(b, off); return err })
	return n, err
}

// WriteAt writes at off, whatever the offset is.
func (s *Scratch) WriteAt(b []byte, off int64) (n int, err error) {
	err = s.with("write", func(f *File) (err error) { n, err = f.WriteAt(b, off); return err })
	return n, err
}

// Seek sets the offset.
func (s *Scratch) Seek(offset int64, whence int) (pos int64, err error) {
	err = s.with("seek", func(f *File) (err error) { pos, err = f.Seek(offset, whence); return err })
	return pos, err
}

// Truncate sets the size.
func (s *Scratch) Truncate(size int64) error {
	return s.with("truncate", func(f *File) error { return f.Truncate(size) })
}

// Size tells the size in bytes.
func (s *Scratch) Size() (n int64, err error) {
	err = s.with("stat", func(f *File) error {
		fi, err := f.Stat()
		if err == nil {
			n = fi.Size()
		}
		return err
	})
	return n, err
}

// Close empties the file and gives it back to the pool, after the calls under
// way. A file that cannot be emptied is closed, and the pool makes another in
// its place.
func (s *Scratch) Close() error {
	s.mu.Lock()
	f := s.file
	s.file = nil
	s.mu.Unlock()
	if f == nil {
		return fail("close", s.pool.d.name, fs.ErrClosed)
	}
	defer func() { <-s.pool.slots }()
	if s.used.Load() {
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			err = f.Truncate(0)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return s.pool.give(f)
}
