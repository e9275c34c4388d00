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
// It holds a descriptor for each file, and for each folder, until Commit.
type Batch struct {
	o       Options
	held    *Dir // unless nil, names are of this folder
	bad     error
	folders map[string]*folder // by the path they were opened with
	files   []*File
	done    bool
}

// NewBatch begins a batch of files anywhere.
func NewBatch(o Options) *Batch { return &Batch{o: o, bad: o.check()} }

// Add writes new content for the file name, and leaves what name leads to as
// it is until Commit. It does not hold on to data. If it fails the file is not
// part of the batch, and the others are. Of one name added twice the later
// content stays.
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
	if b.o.Level == durability.Power && b.o.Sync != SyncWholeFS {
		f.t.StartWriteback() // so that the disk is at work while the next is written
	}
	b.files = append(b.files, f)
	return nil
}

func (b *Batch) create(name string, perm fs.FileMode) (*File, error) {
	fail := func(err error) (*File, error) { return nil, &fs.PathError{Op: "create", Path: name, Err: err} }
	switch {
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
	if dir == "" {
		dir = "."
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
// Else the error, made by errors.Join, tells of each file that failed, and of
// each folder that could not be synced (ErrNotDurable), which concerns all its
// files. A file that failed before it had the name keeps its old content; the
// others are committed.
//
// At level Power: the content of all files is written, and synced as
// Options.Sync says, then come the renames, then one sync of each folder.
func (b *Batch) Commit() error {
	if b.bad != nil {
		return b.bad
	}
	if b.done {
		return fmt.Errorf("atomicfile: batch %w", errDone)
	}
	b.done = true
	errs := b.each((*File).adopt)
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
