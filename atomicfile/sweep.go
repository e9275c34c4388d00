package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// A Swept is what Sweep found: temporary files, by their names in the folder.
type Swept struct {
	Removed []string
	Left    []Left
}

// A Left is a temporary file that Sweep did not remove.
type Left struct {
	Name string
	Why  string
}

// Sweep removes from the directory dir, not from those below it, the
// temporary files of this package whose writers are dead, whatever pattern
// they were made with. It may run while others write there: it removes
// nothing of a writer that lives, or might.
//
// A writer is known to be dead if it was of the same boot and PID namespace,
// and its process is gone or its number has passed to another; or if it was
// of another boot, and dir is on a file system that only one machine at a
// time can mount. So what a container left is swept after the next boot of
// its machine, and on a network file system the machine that left something
// sweeps it, until its next boot.
//
// A removal is not synced: what comes back after a power cut, the next Sweep
// removes. Sweep needs Linux; elsewhere it fails with errors.ErrUnsupported.
func Sweep(dir string) (Swept, error) {
	fail := func(err error) (Swept, error) {
		return Swept{}, &fs.PathError{Op: "sweep", Path: dir, Err: err}
	}
	me, err := thisWriter()
	if err != nil {
		return fail(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Swept{}, err
	}
	d, err := sys.OpenDir(dir, sys.ForPath)
	if err != nil {
		return fail(err)
	}
	defer d.Close()
	local := d.IsLocal()
	var (
		s    Swept
		errs []error
	)
	for _, e := range entries {
		w, ok := parseTemp(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if why := w.mayLive(me, local); why != "" {
			s.Left = append(s.Left, Left{Name: e.Name(), Why: why})
			continue
		}
		switch err := d.Remove(e.Name()); {
		case err == nil:
			s.Removed = append(s.Removed, e.Name())
		case !errors.Is(err, fs.ErrNotExist): // else another Sweep was faster
			errs = append(errs, &fs.PathError{Op: "remove", Path: join(dir, e.Name()), Err: err})
		}
	}
	return s, errors.Join(errs...)
}

// mayLive says why the writer may still be there, or "" if it is dead.
func (w writer) mayLive(me writer, local bool) string {
	switch {
	case w.start == 0 || w.pid <= 0:
		return "its writer could not tell who it was"
	case w.boot != me.boot && local:
		return ""
	case w.boot != me.boot:
		return "written before this boot or on another machine, and this file system may be shared"
	case w.namespace != me.namespace:
		return "written in another PID namespace"
	}
	start, err := sys.StartOf(w.pid)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ""
	case err != nil:
		return err.Error()
	case start == w.start:
		return fmt.Sprintf("process %d is writing it", w.pid)
	}
	return "" // the number is another process's now
}
