package place

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

// Sweep removes the places in stores whose maker is gone, and those anywhere
// that are still mounted or under a loop device. Call it before the first
// place is made. A store that is not there is skipped.
//
// It leaves alone what a living process holds, what belongs to another user,
// and what does not have the exact form of a place. The report has a line for
// each place that was removed, and for each that looks abandoned and was left,
// with the reason. An error is something that should have been removed and
// could not be.
func Sweep(stores ...string) (report []string, err error) {
	me := newOwner("", false)
	var errs []error
	// What lies in another place goes before that one.
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

// candidates lists the folders named like a place.
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
	// Somebody may have put a pipe or a symlink there: neither wait for the
	// one nor follow the other.
	path := filepath.Join(root, ownerName)
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// Empty, it was made a moment ago by a process that then looks again,
		// or by one that was killed. Else it is not a place.
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
		return sweepUnborn(root, lockErr == nil), nil
	}
	if err != nil {
		return fmt.Sprintf("left %s: %v", root, err), nil
	}
	if o.Locked && lockErr != nil {
		return fmt.Sprintf("left %s: %v", root, lockErr), nil
	}
	gone, why := o.left(me)
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

// sweepUnborn removes a folder that holds an empty owner file and nothing
// else: its maker was killed, or is about to find that it was swept. Without
// locks it could not find that.
func sweepUnborn(root string, locked bool) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !locked {
		return fmt.Sprintf("left %s: %v", root, errNoOwner)
	}
	if os.Remove(filepath.Join(root, ownerName)) == nil && os.Remove(root) == nil {
		return fmt.Sprintf("removed %s, which was empty", root)
	}
	return fmt.Sprintf("left %s: %v", root, errNoOwner)
}
