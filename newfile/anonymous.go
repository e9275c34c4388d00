package newfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

// A File is a file that has no name until Publish or Replace gives it one. It
// is written like any other. Close it, not the os.File in it.
type File struct {
	*os.File
	d *Dir

	mu     sync.Mutex
	hidden string // the name it has meanwhile where the file system knows no files without
	done   bool   // published, or closed
}

// hiddenPrefix begins the names of files that are not published.
const hiddenPrefix = ".stele-unnamed-"

// Anonymous makes a file in d that has no name (O_TMPFILE) and opens it for
// reading and writing. perm is before umask. Nobody else finds it, and
// nothing is left of it when it is closed without having been published, or
// when the process ends.
//
// Where the file system has no such files it is made under a hidden name in
// the Dir's folder, ".stele-unnamed-" and 16 hexadecimal digits, and Close
// removes that. A process that is killed leaves it behind.
func Anonymous(d *Dir, perm fs.FileMode) (*File, error) {
	if err := d.acquire("create", d.name); err != nil {
		return nil, err
	}
	defer d.release()
	if !d.noUnnamed.Load() {
		f, err := d.root.OpenUnnamed(d.name, perm)
		if err == nil {
			return &File{File: f, d: d}, nil
		}
		if !sys.Absent(err) {
			return nil, fail("create", d.name, err)
		}
	}
	p, err := d.hidden()
	if err != nil {
		return nil, err
	}
	f, err := d.root.CreateFile(p.rel, p.path, perm, sys.CreateNew)
	if err != nil {
		return nil, fail("create", p.path, err)
	}
	d.noUnnamed.Store(true)
	return &File{File: f, d: d, hidden: p.rel}, nil
}

// hidden draws a name in the folder itself.
func (d *Dir) hidden() (place, error) {
	flat := Dir{prefix: d.prefix}
	return flat.place("create", fmt.Sprintf("%s%016x", hiddenPrefix, rand.Uint64()))
}

// Publish gives the file the name name in its Dir, where Create would make it,
// unless that is there: then it fails with fs.ErrExist, whatever
// Options.Existing says, and the file can be given another name.
//
// At level Power the file is synced first, and the folder afterwards: when
// Publish has returned, the name and all that was written before survive a
// power cut. A crash in the middle leaves the whole file or nothing
// (durability.OldOrNew). At level Kill nothing is synced, and that holds for
// kill -9 only: after a power cut the name may be there with any part of the
// data (durability.Torn).
//
// If a sync fails the file may have the name or not, and cannot be published
// again. Publish may be called once; the file stays open (on Windows, which
// renames no open file, it is closed).
func (f *File) Publish(name string) error { return f.publish(name, false) }

// Replace is Publish in the place of what is there, if anything: a crash in
// the middle leaves the old file or the new, and may leave a hidden name.
func (f *File) Replace(name string) error { return f.publish(name, true) }

var errPublished = badName("the file is published already, or closed")

func (f *File) publish(name string, replace bool) error {
	d := f.d
	p, err := d.place("publish", name)
	if err != nil {
		return err
	}
	if err := d.acquire("publish", p.path); err != nil {
		return err
	}
	defer d.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return fail("publish", p.path, errPublished)
	}
	if d.power {
		if err := f.File.Sync(); err != nil {
			f.done = true // what the kernel dropped, a second sync does not miss
			return err
		}
	}
	if runtime.GOOS == "windows" {
		if err := f.File.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
	}
	if err := d.inShard("publish", p, func() error { return f.give(p.rel, replace) }); err != nil {
		return err
	}
	f.done, f.hidden = true, ""
	return d.syncShard(p.shard)
}

// give gives the file its name.
func (f *File) give(rel string, replace bool) error {
	root := f.d.root
	switch {
	case f.hidden != "" && replace:
		return root.Rename(f.hidden, rel)
	case f.hidden != "":
		return root.RenameNew(f.hidden, rel)
	case !replace:
		return root.LinkFile(f.File, rel)
	}
	// linkat(2) never replaces. A file that has lost its last name cannot be
	// linked again, so it keeps this one until it is renamed, or closed.
	p, err := f.d.hidden()
	if err != nil {
		return err
	}
	if err := root.LinkFile(f.File, p.rel); err != nil {
		return err
	}
	f.hidden = p.rel
	return root.Rename(p.rel, rel)
}

// Close closes the file. One that was not published is gone then; a published
// one stays. Close it before its Dir.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.File.Close()
	f.done = true
	if f.hidden == "" {
		return err
	}
	path := f.File.Name()
	if e := f.d.acquire("remove", path); e != nil {
		return errors.Join(err, e)
	}
	defer f.d.release()
	if e := f.d.root.Remove(f.hidden); e != nil {
		return errors.Join(err, fail("remove", path, e))
	}
	f.hidden = ""
	return err
}
