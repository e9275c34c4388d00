package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stele-go/stele/durability"
)

// A Batch replaces many files with few syncs. Each file is atomic by itself: after
// a crash in the middle of Commit, each name holds its old content or its new
// (durability.OldOrNew), some the old and some the new. A Batch must not be used
// by several goroutines at once.
//
// It holds a descriptor for each file and for each directory until Commit. NewBatch
// and Dir.Batch return one; the zero Batch fails with fs.ErrInvalid.
type Batch struct {
	initialized bool
	o           Options
	dir         *Dir                  // unless nil, the directory of all names
	optErr      error                 // from Options.check
	dirs        map[string]*directory // by the path they were opened with
	files       []*File
	done        bool
}

var errNoBatch = fmt.Errorf("atomicfile: a Batch that neither NewBatch nor Dir.Batch returned: %w", fs.ErrInvalid)

// NewBatch returns a Batch of files in any directories. If the options are wrong, every
// call of the Batch fails.
func NewBatch(o Options) *Batch { return &Batch{initialized: true, o: o, optErr: o.check()} }

// Add writes data to a temporary file for name, which keeps its old content until
// Commit. Add does not retain data. If it fails, the file is not part of the
// batch; the others still are. If a name is added twice, the later content wins.
// See Create for perm.
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

// AddFunc is Add with content that the function write writes to c. AddFunc returns
// the error of write. The file is not part of the batch if write returns an error
// or panics, or if a write to c failed. c fails once write has returned.
//
// write must not use the batch.
func (b *Batch) AddFunc(name string, perm fs.FileMode, write func(c *Content) error) error {
	f, err := b.create(name, perm)
	if err != nil {
		return err
	}
	f.shared = true
	c := newContent(f)
	included := false
	defer func() { // also if write panics
		c.close()
		if !included {
			f.Abort()
		}
	}()
	if err := write(c); err != nil {
		return err
	}
	c.close()
	if err := f.check("commit"); err != nil {
		return err
	}
	if b.done { // by write
		return f.fail("commit", errFinished)
	}
	b.include(f)
	included = true
	return nil
}

// include makes f, which is written, part of the batch.
func (b *Batch) include(f *File) {
	if b.o.Level == durability.Power && b.o.Sync != SyncWholeFS {
		f.t.StartWriteback() // the disk works while the next file is written
	}
	b.files = append(b.files, f)
}

func (b *Batch) create(name string, perm fs.FileMode) (*File, error) {
	fail := func(err error) (*File, error) { return nil, &fs.PathError{Op: "create", Path: name, Err: err} }
	switch {
	case !b.initialized:
		return fail(errNoBatch)
	case b.optErr != nil:
		return fail(b.optErr)
	case b.done:
		return fail(errFinished)
	case b.dir != nil:
		return b.dir.Create(name, perm)
	}
	dir, base, err := split(name)
	if err != nil {
		return fail(err)
	}
	at := b.dirs[dir]
	if at == nil {
		if at, err = openDirectory(dir, b.o); err != nil {
			return fail(err)
		}
		at.probe(b.o)
		if b.dirs == nil {
			b.dirs = map[string]*directory{}
		}
		b.dirs[dir] = at
	}
	at.acquire()
	return create(at, base, name, perm, b.o)
}

// Commit gives every file of the batch its name. If it returns nil, all files have
// their names, durable at Options.Level.
//
// Otherwise the error, made by errors.Join, holds an *fs.PathError for each file
// that failed, with the path that it was added with, and one for each directory that
// could not be synced (ErrNotDurable), which concerns all files in it. A file that
// failed before its rename keeps its old content; the others are committed.
//
// At level Power, Commit makes the content of all files durable as Options.Sync
// says, renames them, then syncs each directory once.
func (b *Batch) Commit() error {
	if !b.initialized {
		return errNoBatch
	}
	if b.optErr != nil {
		return b.optErr
	}
	if b.done {
		return fmt.Errorf("atomicfile: batch %w", errFinished)
	}
	b.done = true
	errs := b.each((*File).applyMetadata)
	if b.o.Level == durability.Power {
		errs = append(errs, b.syncContents()...)
	}
	var dirs []*directory // with a renamed file, in the order of renames
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

// each runs step for every file and removes those that fail from the batch.
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

// Abort removes the temporary files. After Commit it does nothing, so that it may
// be deferred.
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
	for _, at := range b.dirs {
		at.release()
	}
	b.dirs, b.files = nil, nil
}
