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

// Sweep removes scratch folders whose maker has exited: those in stores, and those
// anywhere that are still mounted or under a loop device. Call it before the first
// scratch folder is made. A store that does not exist is skipped.
//
// Sweep keeps the folders of living processes, of other users, and all that do not
// have the exact form of a scratch folder. The report has a line for each folder
// removed, and for each that looks abandoned and was kept, with the reason. The
// error joins the failures to remove a folder.
func Sweep(stores ...string) (report []string, err error) {
	me := newOwner("", false)
	var errs []error
	// A folder inside another goes before that one.
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

// candidates lists the folders named like scratch folders.
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
		entries, _ := os.ReadDir(abs) // what can be read of it
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
		// An empty folder was made a moment ago by a process that looks again
		// afterwards, or by one that was killed. Any other is not ours.
		if os.Remove(root) == nil {
			return fmt.Sprintf("removed %s, which was empty", root), nil
		}
		return "", nil
	}
	if err != nil {
		return fmt.Sprintf("left %s: %v", root, err), nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return fmt.Sprintf("left %s: %s is not a regular file", root, ownerName), nil
	}
	free, lockErr := sys.TryLock(f)
	if lockErr == nil && !free {
		return "", nil // alive
	}
	if !sameFile(f, path) {
		return "", nil // another Sweep was faster
	}
	o, err := readOwner(f)
	if errors.Is(err, errNoOwner) {
		return sweepUnfinished(root, lockErr == nil), nil
	}
	if err != nil {
		return fmt.Sprintf("left %s: %v", root, err), nil
	}
	if o.Locked && lockErr != nil {
		return fmt.Sprintf("left %s: %v", root, lockErr), nil
	}
	gone, why := o.exited(me)
	if !gone {
		if lockErr != nil && why == "" {
			why = lockErr.Error()
		}
		return fmt.Sprintf("left %s: %s", root, why), nil
	}
	err = demolish(root)
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Sprintf("left %s: %v", root, err), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("removed %s (%s) of process %d, which is gone", root, o.Kind, o.PID), nil
}

// sweepUnfinished removes a folder that holds an empty owner file and nothing else:
// its maker was killed, or is about to find that it was swept. Without locks it
// could not find that.
func sweepUnfinished(root string, locked bool) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !locked {
		return fmt.Sprintf("left %s: %v", root, errNoOwner)
	}
	if os.Remove(filepath.Join(root, ownerName)) == nil && os.Remove(root) == nil {
		return fmt.Sprintf("removed %s, which was empty", root)
	}
	return fmt.Sprintf("left %s: %v", root, errNoOwner)
}
