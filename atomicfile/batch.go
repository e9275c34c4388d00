package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stele-go/stele/durability"
)

// A Batch replaces many files for the price of few syncs. Each file is durable
// and atomic by itself: after a crash in the middle, each name holds its old
// content or its new (durability.OldOrNew), some the one, some the other. One
// goroutine at a time may use it.
//
// It holds a descriptor for each file, and for each folder, until Commit. Make
// one with NewBatch or Dir.Batch: the zero Batch fails with fs.ErrInvalid.
type Batch struct {
	made    bool
	o       Options
	held    *Dir // unless nil, names are of this folder
	bad     error
	folders map[string]*folder // by the path they were opened with
	files   []*File
	done    bool
}

var errNoBatch = fmt.Errorf("atomicfile: the zero Batch: %w", fs.ErrInvalid)

// NewBatch begins a batch of files anywhere.
func NewBatch(o Options) *Batch { return &Batch{made: true, o: o, bad: o.check()} }

// Add writes new content for the file name, and leaves what name leads to as
// it is until Commit. It does not hold on to data. If it fails the file is not
// part of the batch, and the others are. Of one name added twice the later
// content stays. perm is what it is to Create.
func (b *Batch) Add(name string, data []byte, perm fs.FileMode) error {
	f, err := b.create(name, perm)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	b.include(f)
	return nil
}

// AddFunc is Add of content that the function write writes, to c. What write
// returns, AddFunc returns, and then the file is not part of the batch, nor if
// a write to c has failed, or write panics. c is of no use once write has
// returned. write must not use the batch.
func (b *Batch) AddFunc(name string, perm fs.FileMode, write func(c *Content) error) error {
	f, err := b.create(name, perm)
	if err != nil {
		return err
	}
	f.shared = true
	c := newContent(f)
	included := false
	defer func() { // also if write panics
		c.end()
		if !included {
			f.Abort()
		}
	}()
	if err := write(c); err != nil {
		return err
	}
	c.end()
	if err := f.usable("commit"); err != nil {
		return err
	}
	if b.done { // by write
		return f.fail("commit", errDone)
	}
	b.include(f)
	included = true
	return nil
}

// include makes f, all written, part of the batch.
func (b *Batch) include(f *File) {
	if b.o.Level == durability.Power && b.o.Sync != SyncWholeFS {
		f.t.StartWriteback() // so that the disk is at work while the next is written
	}
	b.files = append(b.files, f)
}

func (b *Batch) create(name string, perm fs.FileMode) (*File, error) {
	fail := func(err error) (*File, error) { return nil, &fs.PathError{Op: "create", Path: name, Err: err} }
	switch {
	case !b.made:
		return fail(errNoBatch)
	case b.bad != nil:
		return fail(b.bad)
	case b.done:
		return fail(errDone)
	case b.held != nil:
		return b.held.Create(name, perm)
	}
	dir, base, err := split(name)
	if err != nil {
		return fail(err)
	}
	at := b.folders[dir]
	if at == nil {
		if at, err = openFolder(dir, b.o); err != nil {
			return fail(err)
		}
		at.learn(b.o)
		if b.folders == nil {
			b.folders = map[string]*folder{}
		}
		b.folders[dir] = at
	}
	at.acquire()
	return create(at, base, name, perm, b.o)
}

// Commit gives every file of the batch its name. If it returns nil, all have
// it, and that survives what Options.Level says.
//
// Else the error, made by errors.Join, tells of each file that failed, an
// *fs.PathError with the path that it was added with, and of each folder that
// could not be synced (ErrNotDurable), which concerns all its files. A file that failed before it had the name keeps its old content; the
// others are committed.
//
// At level Power: the content of all files is written, and synced as
// Options.Sync says, then come the renames, then one sync of each folder.
func (b *Batch) Commit() error {
	if !b.made {
		return errNoBatch
	}
	if b.bad != nil {
		return b.bad
	}
	if b.done {
		return fmt.Errorf("atomicfile: batch %w", errDone)
	}
	b.done = true
	errs := b.each((*File).settle)
	if b.o.Level == durability.Power {
		errs = append(errs, b.syncContents()...)
	}
	var dirs []*folder // that hold a new name, in the order of the first
	renamed := func(f *File) error {
		err := f.rename()
		if err == nil && !slices.Contains(dirs, f.at) {
			dirs = append(dirs, f.at)
		}
		return err
	}
	errs = append(errs, b.each(renamed)...)
	if b.o.Level == durability.Power {
		for _, at := range dirs {
			if err := at.sync(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	for _, f := range b.files {
		f.at.release()
	}
	b.close()
	return errors.Join(errs...)
}

// each has every file do the next step, and drops those that fail.
func (b *Batch) each(step func(*File) error) (errs []error) {
	b.files = slices.DeleteFunc(b.files, func(f *File) bool {
		err := step(f)
		if err != nil {
			errs = append(errs, err)
		}
		return err != nil
	})
	return errs
}

func (b *Batch) syncContents() []error {
	if b.o.Sync != SyncWholeFS {
		return b.each((*File).syncContent)
	}
	synced := map[uint64]error{} // by file system
	return b.each(func(f *File) error {
		dev, err := f.at.dir.Device()
		if err != nil {
			return f.fatal("stat", err)
		}
		if _, ok := synced[dev]; !ok {
			synced[dev] = f.at.dir.SyncFS()
		}
		if err := synced[dev]; err != nil {
			return f.fatal("sync", err)
		}
		return nil
	})
}

// Abort removes what was written. After Commit it does nothing, and so it may
// be deferred before it.
func (b *Batch) Abort() {
	if b.done {
		return
	}
	b.done = true
	for _, f := range b.files {
		f.Abort()
	}
	b.close()
}

func (b *Batch) close() {
	for _, at := range b.folders {
		at.release()
	}
	b.folders, b.files = nil, nil
}
