package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// Sweep removes scratch directories whose maker has exited: those in stores, and those
// anywhere that are still mounted or under a loop device. Call it before the first
// scratch directory is made. A store that does not exist is skipped.
//
// Sweep keeps the directories of living processes, of other users, and all that do not
// have the exact form of a scratch directory. The report has a line for each directory
// removed, and for each that looks abandoned and was kept, with the reason. The
// error joins the failures to remove a directory.
func Sweep(stores ...string) (report []string, err error) {
	me := newOwner("", false)
	var errs []error
	// A directory inside another goes before that one.
	for _, root := range slices.Backward(candidates(stores)) {
		line, err := sweepOne(root, me)
		if line != "" {
			report = append(report, line)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", root, err))
		}
	}
	return report, errors.Join(errs...)
}

// candidates lists the directories named like scratch directories.
func candidates(stores []string) []string {
	var roots []string
	for _, store := range stores {
		abs, err := filepath.Abs(store)
		if err != nil {
			continue
		}
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			continue
		}
		entries, _ := os.ReadDir(abs) // as many as can be read
		for _, e := range entries {
			roots = append(roots, filepath.Join(abs, e.Name()))
		}
	}
	ms, _ := sys.Mounts()
	for _, m := range ms {
		if filepath.Base(m.Path) == mountName {
			roots = append(roots, filepath.Dir(m.Path))
		}
	}
	for _, file := range backing() {
		if filepath.Base(file) == imageName {
			roots = append(roots, filepath.Dir(file))
		}
	}
	roots = slices.DeleteFunc(roots, func(root string) bool { return !nameForm.MatchString(filepath.Base(root)) })
	slices.Sort(roots)
	return slices.Compact(roots)
}

// sweepOne removes a scratch directory whose maker has exited. The report is empty
// where nothing is to be said of it.
func sweepOne(root string, me owner) (report string, err error) {
	fi, err := os.Lstat(root)
	if err != nil || !fi.IsDir() || !sys.OwnFile(fi) {
		return "", nil
	}
	// The owner file may be another program's pipe or symlink: the open neither
	// waits nor follows.
	path := filepath.Join(root, ownerName)
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// An empty directory was made a moment ago by a process that looks again
		// afterwards, or by one that was killed. Any other is not ours.
		if os.Remove(root) == nil {
			return fmt.Sprintf("removed %s, which was empty", root), nil
		}
		return "", nil
	}
	if err != nil {
		return left(root, err), nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return left(root, ownerName+" is not a regular file"), nil
	}
	free, lockErr := sys.TryLock(f)
	if lockErr == nil && !free {
		return "", nil // alive
	}
	if !sameFile(f, path) {
		return "", nil // another Sweep was faster
	}
	return sweepOwned(root, f, lockErr, me)
}

// sweepOwned removes the directory of the owner file f, which no living process
// has locked, or could not be locked because of lockErr.
func sweepOwned(root string, f *os.File, lockErr error, me owner) (report string, err error) {
	o, err := readOwner(f)
	switch {
	case errors.Is(err, errNoOwner):
		return sweepUnfinished(root, lockErr == nil), nil
	case err != nil:
		return left(root, err), nil
	case o.Locked && lockErr != nil:
		return left(root, lockErr), nil
	}
	exited, why := o.exited(me)
	if !exited {
		if lockErr != nil && why == "" {
			why = lockErr.Error()
		}
		return left(root, why), nil
	}
	err = demolish(root)
	if errors.Is(err, syscall.EBUSY) {
		return left(root, err), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("removed %s (%s) of process %d, which is gone", root, o.Kind, o.PID), nil
}

// left is the line of a directory that was kept.
func left(root string, why any) string { return fmt.Sprintf("left %s: %v", root, why) }

// sweepUnfinished removes a directory that holds only an empty owner file:
// its maker was killed, or is about to find that it was swept. Without locks it
// could not find that.
func sweepUnfinished(root string, locked bool) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !locked {
		return left(root, errNoOwner)
	}
	if os.Remove(filepath.Join(root, ownerName)) == nil && os.Remove(root) == nil {
		return fmt.Sprintf("removed %s, which was empty", root)
	}
	return left(root, errNoOwner)
}
