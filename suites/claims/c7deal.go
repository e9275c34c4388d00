package claims

import (
	"errors"
	"os"

	"github.com/stele-go/stele/internal/measure/fileop"
)

// A connection has a descriptor of the file "data".
type connection struct {
	f      *os.File
	number int  // as coded: the number that it wanted
	extra  bool // made because the pool was empty
	read   func(p []byte) error
}

// A dealer hands out descriptors and takes them back. take fails with EMFILE where the limit
// on descriptors is met.
type dealer struct {
	take  func() (connection, error)
	give  func(connection) error
	close func() error
}

// readFrom returns a read of the file's head.
func readFrom(f *os.File) func(p []byte) error {
	return func(p []byte) error { _, err := f.ReadAt(p, 0); return err }
}

func openEach(int) (dealer, error) {
	return dealer{
		take: func() (connection, error) {
			f, err := os.Open("data")
			return connection{f: f, read: readFrom(f)}, err
		},
		give:  func(c connection) error { return c.f.Close() },
		close: func() error { return nil },
	}, nil
}

// A filePool has files opened ahead. An empty one opens more, which are closed once they are
// given back.
type filePool struct {
	name      string // what it opens
	free, all []*os.File
}

func newFilePool(name string, size int) (*filePool, error) {
	p := &filePool{name: name}
	for range size {
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.free, p.all = append(p.free, f), append(p.all, f)
	}
	return p, nil
}

func (p *filePool) take() (f *os.File, extra bool, err error) {
	if last := len(p.free) - 1; last >= 0 {
		f, p.free = p.free[last], p.free[:last]
		return f, false, nil
	}
	f, err = os.Open(p.name)
	return f, true, err
}

func (p *filePool) give(f *os.File, extra bool) error {
	if extra {
		return f.Close()
	}
	p.free = append(p.free, f)
	return nil
}

func (p *filePool) close() error {
	var errs []error
	for _, f := range p.all {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// dupMeant has a pool of numbers, held by /dev/null: dup3(2) puts the file on the one that a
// connection gets. A number that comes back keeps the file until its next connection.
func dupMeant(size int) (dealer, error) {
	data, err := os.Open("data")
	if err != nil {
		return dealer{}, err
	}
	p, err := newFilePool(os.DevNull, size)
	if err != nil {
		return dealer{}, errors.Join(err, data.Close())
	}
	return dealer{
		take: func() (connection, error) {
			f, extra, err := p.take()
			if err != nil {
				return connection{}, err
			}
			if err := fileop.Redirect(f, data); err != nil {
				return connection{}, errors.Join(err, p.give(f, extra))
			}
			return connection{f: f, extra: extra, read: readFrom(f)}, nil
		},
		give:  func(c connection) error { return p.give(c.f, c.extra) },
		close: func() error { return errors.Join(p.close(), data.Close()) },
	}, nil
}
