package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/tempfile"
)

// SweepOptions are the settings of Sweep. The zero value sweeps one folder.
type SweepOptions struct {
	// Recursive sweeps the folders below dir too. Symlinks are not followed.
	Recursive bool
	// DryRun removes nothing: Removed is what would be.
	DryRun bool
	// Root, unless nil, is what dir is relative to: then nothing below Root
	// follows a symlink, on the way to dir either.
	Root *os.Root
	// OneMount leaves out the folders below dir at which something is mounted.
	// With Root, a mount point on the way to dir is an error (syscall.EXDEV).
	// Linux only.
	OneMount bool
}

// A SweepResult is what Sweep did. Names are relative to the swept directory.
type SweepResult struct {
	Removed []string
	Kept    []KeptFile
}

// A KeptFile is a temporary file that Sweep did not remove.
type KeptFile struct {
	Name   string
	Reason string
}

// Sweep removes from the directory dir the temporary files that the packages
// of this module (atomicfile, header, newfile) left there when their process
// was killed, whatever pattern they were made with. It may run while others
// write there: it removes nothing that a living writer holds.
//
// A writer holds a lock on its file, flock(2), until the file has its name. A
// file whose lock is free is removed, unless its process is known to live, or
// cannot be looked for, as it was in another PID namespace, and the file is
// less than a minute old. Also kept, with the reason, are files that cannot be
// opened for reading or locked, and on a file system that other machines may
// share, what was written before this boot; on any other, what another kernel,
// to which this one may serve it, has written since this boot. A temporary
// symlink has no lock: it is removed once it is a minute old and its process is
// not known to live.
//
// A removal is not synced: what comes back after a power cut, the next Sweep
// removes. The error, made by errors.Join, tells of each file and folder where
// something failed; the others are swept. Once ctx is done Sweep returns what
// it has done, with ctx's error.
//
// Sweep needs Linux; elsewhere it fails with errors.ErrUnsupported.
func Sweep(ctx context.Context, dir string, o SweepOptions) (SweepResult, error) {
	return sweepAt(ctx, dir, o, time.Now)
}

func sweepAt(ctx context.Context, dir string, o SweepOptions, now func() time.Time) (SweepResult, error) {
	fail := func(err error) (SweepResult, error) {
		return SweepResult{}, &fs.PathError{Op: "sweep", Path: dir, Err: err}
	}
	if runtime.GOOS != "linux" {
		return fail(errors.ErrUnsupported)
	}
	top, err := sys.OpenIn(o.Root, dir, sys.ForPath, o.OneMount)
	if err != nil {
		return fail(err)
	}
	defer top.Close()
	s := sweep{top: top, dir: dir, o: o, now: now, todo: []string{"."}}
	for len(s.todo) > 0 && ctx.Err() == nil {
		rel := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if err := s.folder(ctx, rel); err != nil {
			s.errs = append(s.errs, err)
		}
	}
	if err := ctx.Err(); err != nil {
		s.errs = append(s.errs, &fs.PathError{Op: "sweep", Path: dir, Err: context.Cause(ctx)})
	}
	slices.Sort(s.Removed)
	slices.SortFunc(s.Kept, func(a, b KeptFile) int { return strings.Compare(a.Name, b.Name) })
	return s.SweepResult, errors.Join(s.errs...)
}

// A sweep is a running Sweep.
type sweep struct {
	SweepResult
	top  sys.Dir
	dir  string // for errors
	o    SweepOptions
	now  func() time.Time
	todo []string // folders, relative to top
	errs []error
}

// entriesAtOnce is how many entries of a folder are read at a time.
const entriesAtOnce = 1024

// folder sweeps one folder, which may be gone, or no longer one.
func (s *sweep) folder(ctx context.Context, rel string) error {
	path := filepath.Join(s.dir, rel)
	at, err := s.top.OpenBeneath(rel, sys.ForPath, s.o.OneMount)
	if err != nil {
		gone := errors.Is(err, fs.ErrNotExist) || err == syscall.ELOOP || err == syscall.ENOTDIR
		if rel != "." && (gone || err == syscall.EXDEV) {
			return nil // removed or replaced since it was listed; or a mount point
		}
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer at.Close()
	list, err := at.OpenFileBeneath(".", path, os.O_RDONLY, 0, false)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer list.Close()
	sweeper := tempfile.NewSweeper(at, s.o.DryRun, s.now)
	for ctx.Err() == nil {
		entries, err := list.ReadDir(entriesAtOnce)
		for _, e := range entries {
			if e.IsDir() && s.o.Recursive {
				s.todo = append(s.todo, filepath.Join(rel, e.Name()))
			}
			if e.IsDir() || !tempfile.Is(e.Name()) {
				continue
			}
			s.file(sweeper, filepath.Join(rel, e.Name()), e.Name())
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err // with operation and path
		}
	}
	return nil
}

// file sweeps one file.
func (s *sweep) file(sweeper *tempfile.Sweeper, rel, name string) {
	removed, kept, err := sweeper.Sweep(name)
	switch {
	case err != nil:
		s.errs = append(s.errs, &fs.PathError{Op: "sweep", Path: filepath.Join(s.dir, rel), Err: err})
	case removed:
		s.Removed = append(s.Removed, rel)
	case kept != "":
		s.Kept = append(s.Kept, KeptFile{Name: rel, Reason: kept})
	}
}
