package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/mkdir"
)

// A snapshot is made in these steps:
//
//	mark      DIR.part is made, with the file SNAPSHOT in it
//	copy      its log is written, its segments are linked or copied
//	unmark    all of it is synced, and SNAPSHOT removed
//	publish   DIR.part is renamed to DIR, which is an empty directory or not there
//
// Each is durable before the next begins. A crash before unmark is durable leaves
// DIR.part with SNAPSHOT in it, which Open refuses; one after it leaves all of the
// snapshot, as DIR.part or as DIR.
const (
	snapshotPart = ".part"
	snapshotMark = "SNAPSHOT"
)

// errPart is the error of opening a snapshot that is not whole.
var errPart = errors.New("it is a snapshot that is being made, or that was interrupted: remove the directory if nothing makes it")

// checkWhole returns an error if dir is a snapshot that is not whole.
func checkWhole(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, snapshotMark)); err == nil {
		return errPart
	}
	return nil
}

// A snapshotDir is the directory in which a snapshot is made.
type snapshotDir struct {
	dir, part string
	mode      fs.FileMode // of the directory
	published bool
}

// makeSnapshotDir makes the directory for a snapshot of the store in dir of, and marks
// it.
func makeSnapshotDir(of, dir string) (*snapshotDir, error) {
	dir = filepath.Clean(dir)
	d := &snapshotDir{dir: dir, part: dir + snapshotPart}
	err := d.checkTarget(of)
	if err != nil {
		return nil, err
	}
	err = os.Mkdir(d.part, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there: %w; %w", d.part, errPart, fs.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	if err := d.mark(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// checkTarget returns an error if no directory can be made under the name.
func (d *snapshotDir) checkTarget(of string) error {
	fi, err := os.Lstat(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if fi, err = os.Stat(of); err == nil {
			d.mode = fi.Mode().Perm()
		}
		return err
	}
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is %s; want a name that is free, or an empty directory: %w", d.dir, sys.KindOf(fi.Mode().Type()), fs.ErrExist)
	}
	d.mode = fi.Mode().Perm()
	entries, err := os.ReadDir(d.dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty; want a name that is free, or an empty directory: %w", d.dir, fs.ErrExist)
	}
	return err
}

// mark makes what no one takes for a store.
func (d *snapshotDir) mark() error {
	const text = "This is a snapshot of a store that is being made, or that was interrupted. It is\nnot whole. Remove the directory if nothing makes it.\n"
	if err := atomicfile.WriteFile(d.path(snapshotMark), []byte(text), 0o644); err != nil {
		return err
	}
	m, err := mkdir.OpenRoot(d.part, mkdir.Options{})
	if err != nil {
		return err
	}
	err = m.All(catalog.SegmentDir, 0o755)
	return errors.Join(err, m.Close(), syncDir(filepath.Dir(d.part)))
}

func (d *snapshotDir) path(names ...string) string {
	return filepath.Join(append([]string{d.part}, names...)...)
}

// copyImports copies what Import remembers of other stores.
func (d *snapshotDir) copyImports(ctx context.Context, from string) error {
	files, err := filepath.Glob(filepath.Join(from, importsDir, "*"+importSuffix))
	if err != nil || len(files) == 0 {
		return err
	}
	lists, err := filepath.Glob(filepath.Join(from, importsDir, "*"+seenSuffix))
	if err != nil {
		return err
	}
	if err := os.Mkdir(d.path(importsDir), 0o755); err != nil {
		return err
	}
	for _, file := range append(files, lists...) {
		if err := copyDurably(ctx, file, d.path(importsDir, filepath.Base(file)), atomicfile.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// publish makes all durable and gives it its name.
func (d *snapshotDir) publish() error {
	for _, name := range []string{logDir, catalog.SegmentDir, "."} {
		if err := syncDir(d.path(name)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chmod(d.part, d.mode), os.Remove(d.path(snapshotMark)), syncDir(d.part)); err != nil {
		return err
	}
	if err := d.rename(); err != nil {
		return &fs.PathError{Op: "rename", Path: d.part, Err: err}
	}
	d.published = true
	if err := syncDir(filepath.Dir(d.dir)); err != nil {
		return fmt.Errorf("%s is whole, but may be gone after a power cut: %w", d.dir, err)
	}
	return nil
}

// rename gives the directory its name, which an empty directory may have.
func (d *snapshotDir) rename() error {
	if sys.CloseBeforeRename { // where a directory does not replace an empty one
		if err := os.Remove(d.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	up, err := sys.OpenDir(filepath.Dir(d.dir), sys.ForPath)
	if err != nil {
		return err
	}
	return errors.Join(up.Rename(filepath.Base(d.part), filepath.Base(d.dir)), up.Close())
}

// remove removes what was made, unless it is published.
func (d *snapshotDir) remove() error {
	if d.published {
		return nil
	}
	return os.RemoveAll(d.part)
}
