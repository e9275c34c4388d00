package atomicfile

import (
	"errors"
	"io/fs"

	"github.com/stele-go/stele/durability"
)

// Create begins to write new content for the file name, as the function Create
// does, to be committed with the batch: write it, and then Include it. Until
// then it is not part of the batch; Abort it if it is not to be.
func (b *Batch) Create(name string, perm fs.FileMode) (*File, error) { return b.create(name, perm) }

// Include makes a file of Create part of the batch, which alone may commit or
// abort it from now on. What comes of it, Err tells after the batch's Commit.
func (b *Batch) Include(f *File) error {
	if err := f.usable("commit"); err != nil {
		return err
	}
	if b.done {
		f.Abort()
		return f.fail("commit", errDone)
	}
	if b.o.Level == durability.Power && b.o.Sync != SyncWholeFS {
		f.t.StartWriteback() // so that the disk is at work while the next is written
	}
	b.files = append(b.files, f)
	return nil
}

// Err is why the content has not got the name: nil once it has, also where
// the folder could not be synced then (ErrNotDurable).
func (f *File) Err() error {
	if errors.Is(f.err, errDone) {
		return nil
	}
	return f.err
}
