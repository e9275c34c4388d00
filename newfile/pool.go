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

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// A Pool hands out scratch files: empty files without a name, which are emptied
// and reused when they are closed. Its methods are safe for concurrent use.
//
// No file has two users. Each Get returns a new Scratch, which fails with
// fs.ErrClosed once it is closed, and never shows the data of the next user.
//
// A scratch file is lost when the process exits (durability.None). The zero Pool
// is not open: its methods fail with fs.ErrInvalid.
type Pool struct {
	d   *Dir
	sem chan struct{} // a semaphore: one value for each file in use, or being created by Warm

	mu     sync.Mutex
	files  int     // in use, idle, or being created
	idle   []*File // used last in, first out: the metadata of the last is in the cache
	closed bool
}

// NewPool returns a pool of at most limit files, created in the directory of d by
// Get and Warm. A limit above the soft limit on descriptors is refused with a
// *LimitError. Close the pool before d.
func NewPool(d *Dir, limit int) (*Pool, error) {
	if err := setting.AtLeast("newfile: NewPool: limit", limit, 1); err != nil {
		return nil, err
	}
	if !d.opened() {
		return nil, setting.Wrong("newfile: NewPool: d", setting.Text("a zero Dir"), "one that OpenDir returned")
	}
	if soft, hard, err := sys.FileLimits(); err == nil && uint64(limit) > soft {
		return nil, fmt.Errorf("newfile: NewPool: limit: %d files: %w", limit, &LimitError{Err: syscall.EMFILE, Soft: soft, Hard: hard})
	}
	return &Pool{d: d, sem: make(chan struct{}, limit)}, nil
}

// Warm creates files until the pool has n, those in use included, so that the
// first calls of Get need not. An n above the pool's limit is fs.ErrInvalid. If
// the process may not have that many more descriptors, Warm creates no file and
// the error is a *LimitError. After any other error, that of ctx, fs.ErrClosed
// or that of Anonymous, the files created by then stay.
func (p *Pool) Warm(ctx context.Context, n int) error {
	if p.d == nil {
		return fail("create", "", errNotOpen)
	}
	if n < 0 || n > cap(p.sem) {
		return setting.Wrong("newfile: Pool.Warm: n", n, "0 to %d files, the limit of the pool", cap(p.sem))
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
		return fmt.Errorf("newfile: Pool.Warm: %d files, with %d descriptors in use: %w", n, l.Used,
			&LimitError{Err: syscall.EMFILE, Soft: l.Soft, Hard: l.Hard})
	}
	for {
		if more, err := p.warmOne(ctx, n); !more {
			return err
		}
	}
}

// warmOne creates one file if there are fewer than n.
func (p *Pool) warmOne(ctx context.Context, n int) (more bool, err error) {
	// As Get does, so that there are never more files than the limit.
	if err := p.acquire(ctx); err != nil {
		return false, err
	}
	defer p.release()
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
	f, err := p.create()
	if err != nil {
		return false, err
	}
	return true, p.put(f)
}

// acquire waits until fewer than limit files are in use.
func (p *Pool) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return fail("create", p.d.name, ctxErr(ctx))
	}
	select {
	case p.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fail("create", p.d.name, ctxErr(ctx))
	}
}

func (p *Pool) release() { <-p.sem }

// Get returns an empty file, open for reading and writing at offset 0. It waits
// while limit files are in use. Its error is that of ctx, fs.ErrClosed after
// Close, or that of Anonymous.
func (p *Pool) Get(ctx context.Context) (*Scratch, error) {
	if p.d == nil {
		return nil, fail("create", "", errNotOpen)
	}
	if err := p.acquire(ctx); err != nil {
		return nil, err
	}
	f, err := p.take()
	if err != nil {
		p.release()
		return nil, err
	}
	return &Scratch{pool: p, file: f}, nil
}

// take returns an idle file, or a new one.
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
	return p.create()
}

// create creates a file that files already counts.
func (p *Pool) create() (*File, error) {
	f, err := Anonymous(p.d, 0o600)
	if err != nil {
		p.uncount()
	}
	return f, err
}

// uncount subtracts a file that the pool no longer has.
func (p *Pool) uncount() {
	p.mu.Lock()
	p.files--
	p.mu.Unlock()
}

// put adds the empty file f to idle, or closes it if the pool is closed.
func (p *Pool) put(f *File) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return f.Close()
	}
	p.idle = append(p.idle, f)
	p.mu.Unlock()
	return nil
}

// Close closes the idle files. A file in use is closed by Scratch.Close. Later
// calls of Get fail with fs.ErrClosed; one that waits does when a file is closed.
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

// A Scratch is a file of a Pool. Its methods are those of os.File until it is
// closed; then they fail with fs.ErrClosed. Those of the zero Scratch fail with
// fs.ErrInvalid.
type Scratch struct {
	pool *Pool

	mu   sync.RWMutex // read-held while file is in use, so that Close waits
	file *File        // nil once closed
	used atomic.Bool  // the file may have content or another offset than 0
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

// Read reads at the current offset.
func (s *Scratch) Read(b []byte) (n int, err error) {
	err = s.with("read", func(f *File) (err error) { n, err = f.Read(b); return err })
	return n, err
}

// Write writes at the current offset.
func (s *Scratch) Write(b []byte) (n int, err error) {
	err = s.with("write", func(f *File) (err error) { n, err = f.Write(b); return err })
	return n, err
}

// ReadAt reads at off. It does not use the current offset.
func (s *Scratch) ReadAt(b []byte, off int64) (n int, err error) {
	err = s.with("read", func(f *File) (err error) { n, err = f.ReadAt(b, off); return err })
	return n, err
}

// WriteAt writes at off. It does not use the current offset.
func (s *Scratch) WriteAt(b []byte, off int64) (n int, err error) {
	err = s.with("write", func(f *File) (err error) { n, err = f.WriteAt(b, off); return err })
	return n, err
}

// Seek sets the current offset.
func (s *Scratch) Seek(offset int64, whence int) (pos int64, err error) {
	err = s.with("seek", func(f *File) (err error) { pos, err = f.Seek(offset, whence); return err })
	return pos, err
}

// Truncate sets the size.
func (s *Scratch) Truncate(size int64) error {
	return s.with("truncate", func(f *File) error { return f.Truncate(size) })
}

// Size returns the size in bytes.
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

// Close waits for the calls under way, empties the file and returns it to the
// pool. A file that cannot be emptied is closed, and the pool creates another
// when needed.
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
	defer s.pool.release()
	if s.used.Load() {
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			err = f.Truncate(0)
		}
		if err != nil {
			s.pool.uncount()
			return errors.Join(err, f.Close())
		}
	}
	return s.pool.put(f)
}
