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
// Nothing survives of a scratch file (durability.None). The zero Pool is not
// open: its methods fail with fs.ErrInvalid.
type Pool struct {
	d     *Dir
	slots chan struct{} // one for each file that is lent, or made by Warm

	mu     sync.Mutex
	files  int     // that there are, lent or not, or are being made
	idle   []*File // the one used last is lent first: its metadata is in the cache
	closed bool
}

// NewPool makes a pool of at most limit files, made in the folder of d as they
// are needed, or by Warm. A limit above the soft limit on descriptors is refused
// with a *LimitError. Close the pool before d.
func NewPool(d *Dir, limit int) (*Pool, error) {
	if limit < 1 {
		return nil, invalid("NewPool: limit: %d files; want 1 or more", limit)
	}
	if !d.opened() {
		return nil, invalid("NewPool: d: a Dir that OpenDir did not open")
	}
	if soft, hard, err := sys.FileLimits(); err == nil && uint64(limit) > soft {
		return nil, fmt.Errorf("newfile: pool of %d files: %w", limit, &LimitError{Err: syscall.EMFILE, Soft: soft, Hard: hard})
	}
	return &Pool{d: d, slots: make(chan struct{}, limit)}, nil
}

// Warm makes files until the pool has n of them, those that are lent included,
// so that the first users need not wait until theirs are made. n above the
// pool's limit is refused with fs.ErrInvalid. If n files need more descriptors
// than this process may have beside those it has, none is made, and the error is
// a *LimitError. After any other error, that of ctx, fs.ErrClosed or that of
// Anonymous, the files made until then stay.
func (p *Pool) Warm(ctx context.Context, n int) error {
	if p.d == nil {
		return fail("create", "", errNotOpen)
	}
	if n < 0 || n > cap(p.slots) {
		return invalid("Pool.Warm: n: %d files; want 0 to %d, the limit of the pool", n, cap(p.slots))
	}
	p.mu.Lock()
	missing, closed := n-p.files, p.closed
	p.mu.Unlock()
	if closed {
		return fail("create", p.d.name, fs.ErrClosed)
	}
	if missing <= 0 {
		return nil
	}
	if l, err := Limits(); err == nil && l.Used > 0 && l.Used+uint64(missing) > l.Soft {
		return fmt.Errorf("newfile: warm a pool with %d files, %d descriptors in use: %w", n, l.Used,
			&LimitError{Err: syscall.EMFILE, Soft: l.Soft, Hard: l.Hard})
	}
	for {
		if more, err := p.warmOne(ctx, n); !more {
			return err
		}
	}
}

// warmOne makes one file if there are fewer than n.
func (p *Pool) warmOne(ctx context.Context, n int) (more bool, err error) {
	// A slot, as for a loan: so there are never more files than the limit.
	if err := p.slot(ctx); err != nil {
		return false, err
	}
	defer func() { <-p.slots }()
	p.mu.Lock()
	switch {
	case p.closed:
		err = fail("create", p.d.name, fs.ErrClosed)
	case p.files < n:
		p.files++
		more = true
	}
	p.mu.Unlock()
	if !more {
		return false, err
	}
	f, err := p.make()
	if err != nil {
		return false, err
	}
	return true, p.give(f)
}

// slot waits until fewer than limit files are lent.
func (p *Pool) slot(ctx context.Context) error {
	if ctx.Err() != nil {
		return fail("create", p.d.name, ctxErr(ctx))
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fail("create", p.d.name, ctxErr(ctx))
	}
}

// Get lends an empty file, open for reading and writing at its head. While
// limit files are lent it waits. Its error is that of ctx, fs.ErrClosed after
// Close, or that of Anonymous.
func (p *Pool) Get(ctx context.Context) (*Scratch, error) {
	if p.d == nil {
		return nil, fail("create", "", errNotOpen)
	}
	if err := p.slot(ctx); err != nil {
		return nil, err
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
	p.files++
	p.mu.Unlock()
	return p.make()
}

// make makes a file that is counted already.
func (p *Pool) make() (*File, error) {
	f, err := Anonymous(p.d, 0o600)
	if err != nil {
		p.lost()
	}
	return f, err
}

// lost counts a file less.
func (p *Pool) lost() {
	p.mu.Lock()
	p.files--
	p.mu.Unlock()
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
	if p.d == nil {
		return fail("close", "", errNotOpen)
	}
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
// os.File do, until it is closed; then they fail with fs.ErrClosed. Those of the
// zero Scratch fail with fs.ErrInvalid.
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
	if s.pool == nil {
		return fail(op, "", errNotOpen)
	}
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
	if s.pool == nil {
		return fail("close", "", errNotOpen)
	}
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
			s.pool.lost()
			return errors.Join(err, f.Close())
		}
	}
	return s.pool.give(f)
}
