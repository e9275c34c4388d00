package headers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// A Way is a way of writing before the first byte of a file.
type Way = job.Way[Inserter]

// An Inserter writes before the first byte of files.
type Inserter struct {
	// Prepare gets a file ready for headers of size bytes in all. It is not timed,
	// and may be nil.
	Prepare func(name string, size int64) error
	// Insert puts head before the first byte of the file. A way that a file
	// system does not have fails with an errors.ErrUnsupported.
	Insert func(name string, head []byte) error
}

// by returns the Open of an Inserter that has nothing to prepare.
func by(insert func(name string, head []byte) error) func(job.Site) (Inserter, error) {
	return job.Fixed(Inserter{Insert: insert})
}

// The ways without Stele.

func readAndRewrite(level durability.Level) Way {
	w := Way{
		Name: "read and rewrite", Promise: job.Promise(level, durability.Torn), Baseline: true,
		Doc:  "os.ReadFile, then os.WriteFile of head and content over it",
		Open: by(RewritePlain),
	}
	if level == durability.Power {
		w.Name += " + fsync"
		w.Doc += ", then fsync"
		w.Open = by(func(name string, head []byte) error {
			if err := RewritePlain(name, head); err != nil {
				return err
			}
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(f.Sync(), f.Close())
		})
	}
	return w
}

// RewritePlain reads the whole file and writes it again after head, as most programs
// do. It syncs nothing, and a crash may leave a part of the file (durability.Torn).
func RewritePlain(name string, head []byte) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	joined := make([]byte, 0, len(head)+len(content))
	joined = append(append(joined, head...), content...)
	return os.WriteFile(name, joined, 0o644)
}

func copyAndRename(level durability.Level) Way {
	w := Way{
		Name: "copy and rename", Promise: job.Promise(level, durability.OldOrNew), Baseline: true,
		Doc:  "head and io.Copy into a new file, and os.Rename over the old one, whose mode and attributes are lost",
		Open: by(func(name string, head []byte) error { return copyRename(name, head, false) }),
	}
	if level == durability.Power {
		w.Name += " + fsync"
		w.Doc += "; the new file synced before that, the directory after"
		w.Open = by(func(name string, head []byte) error { return copyRename(name, head, true) })
	}
	return w
}

func copyRename(name string, head []byte, synced bool) (err error) {
	old, err := os.Open(name)
	if err != nil {
		return err
	}
	defer old.Close() // it was only read
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(head)
	if err == nil {
		_, err = io.Copy(f, old)
	}
	if err == nil && synced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if synced {
		return datafile.SyncDir(dir)
	}
	return nil
}

// insertion is header.Insert with o.
func insertion(name, doc string, o header.Options) Way {
	return insertionPromising(job.Promise(o.Level, durability.OldOrNew), name, doc, o)
}

// insertionPromising is header.Insert with o. It is unsupported where the file system
// cannot insert that way, or only with another promise.
func insertionPromising(p run.Promise, name, doc string, o header.Options) Way {
	if o.Level == durability.Power {
		name += " power"
	}
	return Way{Name: name, Doc: doc, Promise: p, Open: by(insertWith(p, o))}
}

func insertWith(p run.Promise, o header.Options) func(name string, head []byte) error {
	return func(name string, head []byte) error {
		r, err := header.Insert(context.Background(), name, head, o)
		return AsPromised(r, err, p)
	}
}

// AsPromised returns err, but an errors.ErrUnsupported if the place cannot insert in
// the way that was asked for, or if the promise of r is not p.
func AsPromised(r header.Result, err error, p run.Promise) error {
	switch {
	case errors.Is(err, header.ErrStrategy):
		var path *fs.PathError // names a file of the block, which says nothing
		if errors.As(err, &path) {
			err = path.Err
		}
		return job.Unsupported("%s", err.Error())
	case err != nil:
		return err
	case run.Writes(r.Promise.Level, r.Promise.After) != p:
		why := fmt.Sprintf("here the promise of %v is %v, not %v", r.Strategy, r.Promise, p)
		if r.Why != "" {
			why += ": " + r.Why
		}
		return job.Unsupported("%s", why)
	}
	return nil
}

// reserved is header.Insert into a slot. Reserving the slot is not timed: a program
// that will insert headers reserves as it makes the file.
func reserved(level durability.Level, after durability.After) Way {
	o := header.Options{
		Mode: header.InPlace, Strategy: header.Slot, Level: level, Pad: header.PadByte('\n'),
	}
	p := job.Promise(level, after)
	w := insertionPromising(p, "Insert into a slot", "header.Insert into room reserved at the head; after a crash header.Recover makes it old or new", o)
	w.Open = job.Fixed(Inserter{
		Prepare: func(name string, size int64) error {
			_, err := header.Reserve(context.Background(), name, size, header.Options{Level: durability.Kill, Pad: o.Pad})
			return err
		},
		Insert: insertWith(p, o),
	})
	return w
}

// tornSlot is a slot for headers that are too large for a copy in an extended
// attribute.
func tornSlot() Way {
	w := reserved(durability.Kill, durability.Torn)
	w.Name += ", torn"
	w.Doc = "header.Insert into room reserved at the head, of which a crash may leave a part"
	return w
}

// shiftOrSlot lets package header choose the way: a shift moves whole blocks, and later
// headers fit into its padding.
func shiftOrSlot() Way {
	return insertion("Insert in place", "header.Insert in place: a shift, or into the padding of an earlier one; a new file where neither can be",
		header.Options{Mode: header.InPlace, Level: durability.Kill, Pad: header.PadByte('\n')})
}

func insertAtomic(level durability.Level) Way {
	return insertion("Insert atomic", "header.Insert: exactly the bytes given, into a new file, in the fastest way there is",
		header.Options{Level: level})
}

// autoInsertions let package header choose the way.
func autoInsertions(level durability.Level) []Way {
	newline := header.PadByte('\n')
	return []Way{
		insertAtomic(level),
		insertion("Insert atomic padded", "the same, padded to a whole block where that lets the new file share the old one's extents",
			header.Options{Level: level, Pad: newline}),
		insertion("Insert by shift", "header.Insert in place: the file's extents are moved by whole blocks (INSERT_RANGE); header.Recover as for a slot",
			header.Options{Mode: header.InPlace, Strategy: header.Shift, Level: level, Pad: newline}),
		reserved(level, durability.OldOrNew),
	}
}

// forcedInsertions set the way of an atomic insertion.
func forcedInsertions() []Way {
	return []Way{
		insertion("Insert atomic, clone", "header.Insert, shared extents only (FICLONERANGE)",
			header.Options{Level: durability.Kill, Strategy: header.Clone, Pad: header.PadByte('\n')}),
		insertion("Insert atomic, kernel copy", "header.Insert, copy_file_range only",
			header.Options{Level: durability.Kill, Strategy: header.KernelCopy}),
		insertion("Insert atomic, copy", "header.Insert, through memory only",
			header.Options{Level: durability.Kill, Strategy: header.Copy}),
	}
}

// insertWays returns all ways for a single header, by level.
func insertWays() []Way {
	return slices.Concat(
		[]Way{readAndRewrite(durability.Kill), copyAndRename(durability.Kill)},
		autoInsertions(durability.Kill), forcedInsertions(),
		[]Way{readAndRewrite(durability.Power), copyAndRename(durability.Power)},
		autoInsertions(durability.Power),
	)
}

// injectWays returns the ways for many headers. The files are so small that the atomic
// ways are alike, and after a shift the second header would go into the padding of the
// first.
func injectWays() []Way {
	return []Way{
		readAndRewrite(durability.Kill), copyAndRename(durability.Kill),
		insertAtomic(durability.Kill), shiftOrSlot(), reserved(durability.Kill, durability.OldOrNew),
	}
}
