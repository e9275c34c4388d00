package wal

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/stele-go/stele/internal/setting"
)

// CreateOptions are the settings of a log that Create creates.
type CreateOptions struct {
	// ID identifies the log; see Log.ID. The default, all zeros, is a random one.
	ID [16]byte
	// First is the position of the first record to be appended, up to 1<<62. The
	// default, 0, is 1.
	First Position
}

// maxFirst is the highest CreateOptions.First: numbers enough are left.
const maxFirst = 1 << 62

// Create creates an empty log in dir that goes on where another ended: Open, which
// creates a log as well, gives it a random ID and begins at position 1. Create
// makes dir and its missing parents.
//
// When it returns, the log survives a power cut; on a system that cannot sync a
// directory, the end of the process. After a crash dir has the log or none. Call
// Create again then, as Open would create one of its own.
//
// Create fails with fs.ErrExist, and changes nothing, if dir has a log or any
// segment of one. Its other errors are ErrLocked, fs.ErrInvalid for a wrong
// option, a *CorruptError for a file that is not regular, and those of the file
// system.
func Create(dir string, o CreateOptions) (err error) {
	m := newMeta()
	if o.ID != [16]byte{} {
		m.id = o.ID
	}
	m.first = cmp.Or(o.First, m.first)
	m.next = m.first
	if err := setting.InRange("wal: CreateOptions.First", m.first, 1, maxFirst); err != nil {
		return err
	}
	s, err := lockStore(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.closeFiles()) }()
	f, err := readListing(dir)
	switch {
	case err != nil:
		return err
	case f.irregular != nil:
		return f.irregular
	case f.hasMeta:
		return pathError("create", s.path(metaName), fs.ErrExist)
	case len(f.numbers) > 0:
		return pathError("create", f.path(f.numbers[0]), fs.ErrExist)
	}
	return s.createMeta(m)
}
