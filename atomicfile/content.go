package atomicfile

import (
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// Content is the new content of one file of a Batch, while the function that
// writes it runs: see Batch.AddFunc. Once the function has returned, every
// method fails with an error that is fs.ErrClosed. Several goroutines may use it
// at once.
type Content struct {
	uses  sys.Gate // entered while f is used; closed once the function has returned
	f     *File
	alone sync.Mutex // held while f is written or looked at
}

func newContent(f *File) *Content {
	c := &Content{f: f}
	c.uses.Open()
	return c
}

// end waits for calls of goroutines that the function has left behind, and
// lets no other begin: the descriptor is the batch's alone.
func (c *Content) end() {
	c.uses.Close()
	c.f.shared = false
}

// begin has nobody else write f until finish. A nil Content is that of a File
// which one goroutine uses.
func (c *Content) begin() error {
	switch {
	case c == nil:
		return nil
	case !c.uses.Enter():
		return errEnded
	}
	c.alone.Lock()
	return nil
}

func (c *Content) finish() {
	if c != nil {
		c.alone.Unlock()
		c.uses.Leave()
	}
}

// use runs do, which may write, with the file, of which nothing is closed
// meanwhile.
func (c *Content) use(do func(f *File) error) error {
	if !c.uses.Enter() {
		return errEnded
	}
	defer c.uses.Leave()
	c.alone.Lock()
	err := c.f.usable("write")
	c.alone.Unlock()
	if err != nil {
		return err
	}
	return do(c.f)
}

var errEnded = &fs.PathError{Op: "write", Path: "content of a batch", Err: fs.ErrClosed}

// Write appends b, at the offset.
func (c *Content) Write(b []byte) (n int, err error) {
	if err := c.begin(); err != nil {
		return 0, err
	}
	defer c.finish()
	return c.f.Write(b)
}

// ReadFrom appends all that r gives, as File.ReadFrom does. A Read of r that is
// under way when the function returns is not waited for.
func (c *Content) ReadFrom(r io.Reader) (n int64, err error) {
	if c.f == nil {
		return 0, errEnded // the zero Content
	}
	return c.f.readFrom(r, c)
}

// SyscallConn gives access to the descriptor, as File.SyscallConn does; the
// RawConn, too, is usable only while the function runs.
func (c *Content) SyscallConn() (syscall.RawConn, error) {
	err := c.use(func(*File) error { return nil })
	return rawConn{c.use}, err
}

// A rawConn lends the descriptor only while the file is open: afterwards its
// number may be another file's.
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
