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

// SweepOptions are the settings of Sweep. The zero value sweeps one directory.
type SweepOptions struct {
	// Recursive sweeps the directories below dir too. Symlinks are not followed.
	Recursive bool
	// DryRun removes nothing: Removed lists the files that would be.
	DryRun bool
	// Root, unless nil, is the directory that dir is relative to. No symlink below
	// Root is followed, on the way to dir either.
	Root *os.Root
	// OneMount skips the directories below dir that are mount points. With Root, a
	// mount point on the way to dir is an error (syscall.EXDEV). Linux only.
	OneMount bool
}

// A SweepResult lists the files that Sweep removed and those that it kept. Names
// are relative to the swept directory.
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
// atomicfile, header and newfile left there when their process was killed,
// whatever pattern they were made with. It may run while others write there: it
// removes no file that a living writer holds.
//
// A writer holds a lock on its file, flock(2), until the file has its name. Sweep
// removes a file whose lock is free, unless
//
//   - its process is known to live;
//   - its process cannot be looked up, being in another PID namespace, and the
//     file is less than a minute old;
//   - it cannot be opened for reading, or locked;
//   - the file system may be shared with other machines, and the file was written
//     before this boot;
//   - the file system is local, and another kernel, to which this one may export
//     it, has written the file since this boot.
//
// Such files are listed in Kept, with the reason. A temporary symlink has no lock:
// Sweep removes it once it is a minute old, unless its process is known to live.
//
// Removals are not synced: a file that reappears after a power cut is removed by
// the next Sweep. The error, made by errors.Join, holds one for each file and
// directory that failed; the others are swept. Once ctx is done Sweep returns its
// result so far, with the error of ctx.
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
		if err := s.sweepDir(ctx, rel); err != nil {
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

// A sweep is the state of one Sweep.
type sweep struct {
	SweepResult
	top  sys.Dir
	dir  string // for errors
	o    SweepOptions
	now  func() time.Time
	todo []string // directories, relative to top
	errs []error
}

// entriesAtOnce is how many entries of a directory are read at a time.
const entriesAtOnce = 1024

// directory sweeps one directory. It is no error if that was removed or replaced.
func (s *sweep) sweepDir(ctx context.Context, rel string) error {
	path := filepath.Join(s.dir, rel)
	at, err := s.top.OpenBeneath(rel, sys.ForPath, s.o.OneMount)
	if err != nil {
		changed := errors.Is(err, fs.ErrNotExist) || err == syscall.ELOOP || err == syscall.ENOTDIR
		if rel != "." && (changed || err == syscall.EXDEV) {
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
			s.sweepFile(sweeper, filepath.Join(rel, e.Name()), e.Name())
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

// sweepFile sweeps one file.
func (s *sweep) sweepFile(sweeper *tempfile.Sweeper, rel, name string) {
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
