package atomicfile

import (
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/stele-go/stele/internal/gate"
)

// Content is the new content of one file of a Batch during the call of the function
// that writes it: see Batch.AddFunc. Once the function has returned, every method
// fails with fs.ErrClosed. Several goroutines may use a Content at once.
type Content struct {
	gate gate.Gate // entered during each call; closed once the function has returned
	f    *File
	mu   sync.Mutex // guards f
}

func newContent(f *File) *Content {
	c := &Content{f: f}
	c.gate.Open()
	return c
}

// close waits for the calls of goroutines that the function left behind and makes
// later calls fail: from then on only the batch uses the descriptor.
func (c *Content) close() {
	c.gate.Close()
	c.f.shared = false
}

// lock enters the gate and locks f until unlock. On a nil Content, that of a File
// used by one goroutine, it does nothing.
func (c *Content) lock() error {
	switch {
	case c == nil:
		return nil
	case !c.gate.Enter():
		return errContentClosed
	}
	c.mu.Lock()
	return nil
}

func (c *Content) unlock() {
	if c != nil {
		c.mu.Unlock()
		c.gate.Leave()
	}
}

// withFile calls do with the file, which stays open during the call.
func (c *Content) withFile(do func(f *File) error) error {
	if !c.gate.Enter() {
		return errContentClosed
	}
	defer c.gate.Leave()
	c.mu.Lock()
	err := c.f.check("write")
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return do(c.f)
}

var errContentClosed = &fs.PathError{Op: "write", Path: "content of a batch", Err: fs.ErrClosed}

// Write appends b.
func (c *Content) Write(b []byte) (n int, err error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.unlock()
	return c.f.Write(b)
}

// ReadFrom appends everything read from r, as File.ReadFrom does. If the function
// returns during a Read of r, nothing waits for that Read.
func (c *Content) ReadFrom(r io.Reader) (n int64, err error) {
	if c.f == nil {
		return 0, errContentClosed // the zero Content
	}
	return c.f.readFrom(r, c)
}

// SyscallConn gives access to the descriptor, as File.SyscallConn does. The RawConn,
// too, fails once the function has returned.
func (c *Content) SyscallConn() (syscall.RawConn, error) {
	err := c.withFile(func(*File) error { return nil })
	return rawConn{c.withFile}, err
}

// A rawConn gives access to the descriptor only while the file is open: afterwards
// its number may be that of another file.
type rawConn struct {
	use func(func(*File) error) error
}

func (r rawConn) with(do func(syscall.RawConn) error) error {
	return r.use(func(f *File) error {
		raw, err := f.t.SyscallConn()
		if err != nil {
			return err
		}
		return do(raw)
	})
}

func (r rawConn) Control(g func(fd uintptr)) error {
	return r.with(func(raw syscall.RawConn) error { return raw.Control(g) })
}

func (r rawConn) Read(g func(fd uintptr) bool) error {
	return r.with(func(raw syscall.RawConn) error { return raw.Read(g) })
}

func (r rawConn) Write(g func(fd uintptr) bool) error {
	return r.with(func(raw syscall.RawConn) error { return raw.Write(g) })
}
