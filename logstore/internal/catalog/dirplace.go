package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/profile"
)

// A dirPlace is the directory of a store. The package comment draws its layout.
type dirPlace struct {
	dir      string
	profile  *profile.Profile
	root     sys.Dir
	segments *atomicfile.Dir
	// Directories whose names have changed since their last sync.
	segmentsChanged, quarantineChanged atomic.Bool
}

// OpenDir returns the place dir/segments, with its quarantine dir/quarantine, and
// creates missing directories. Segments are read as p says, unless it is nil.
func OpenDir(dir string, p *profile.Profile) (Place, error) {
	if err := makeDirs(dir); err != nil {
		return nil, err
	}
	root, err := sys.OpenDir(dir, sys.ForPath)
	if err != nil {
		return nil, fmt.Errorf("catalog: open %s: %w", dir, err)
	}
	segments, err := atomicfile.OpenDir(filepath.Join(dir, SegmentDir), atomicfile.Options{Temp: "*" + tempSuffix})
	if err != nil {
		root.Close()
		return nil, err
	}
	return &dirPlace{dir: dir, profile: p, root: root, segments: segments}, nil
}

func makeDirs(dir string) error {
	m, err := mkdir.OpenRoot(dir, mkdir.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	for _, name := range []string{SegmentDir, QuarantineDir} {
		if err := m.All(name, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (d *dirPlace) Close() error { return errors.Join(d.segments.Close(), d.root.Close()) }

func (d *dirPlace) Path(name string) string { return filepath.Join(d.dir, SegmentDir, name) }

func (d *dirPlace) File(name string) (path string, ok bool) { return d.Path(name), true }

func (d *dirPlace) List(context.Context) (names []string, err error) {
	for _, sub := range []string{SegmentDir, QuarantineDir} {
		entries, err := os.ReadDir(filepath.Join(d.dir, sub))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := entry.Name()
			if strings.HasSuffix(name, tempSuffix) {
				if err := d.removeTemp(sub, entry); err != nil {
					return nil, err
				}
				continue
			}
			if _, ok := parseName(name); ok && sub == SegmentDir {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// removeTemp removes a file that was being written when its process ended.
func (d *dirPlace) removeTemp(sub string, entry fs.DirEntry) error {
	path := filepath.Join(d.dir, sub, entry.Name())
	if !entry.Type().IsRegular() {
		return fmt.Errorf("catalog: %s is %s, not a regular file; move it away: %w", path, sys.KindOf(entry.Type()), fs.ErrInvalid)
	}
	if err := d.root.Remove(sub + "/" + entry.Name()); err != nil {
		return fmt.Errorf("catalog: remove %s: %w", path, err)
	}
	return nil
}

func (d *dirPlace) Quarantined(context.Context) (int, error) {
	return countQuarantined(filepath.Join(d.dir, QuarantineDir))
}

func countQuarantined(dir string) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), SegmentSuffix) {
			n++
		}
	}
	return n, nil
}

func (d *dirPlace) Open(_ context.Context, name string) (Object, int64, error) {
	return openFile(d.Path(name), d.profile)
}

func openFile(path string, p *profile.Profile) (Object, int64, error) {
	src, err := openSource(path, p)
	if err != nil {
		return nil, 0, err
	}
	size, err := src.Size()
	if err != nil {
		src.Close()
		return nil, 0, err
	}
	return src, size, nil
}

func (d *dirPlace) Remove(_ context.Context, name string) error {
	err := d.root.Remove(SegmentDir + "/" + name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "remove", Path: d.Path(name), Err: err}
	}
	d.segmentsChanged.Store(true)
	return nil
}

func (d *dirPlace) Unsynced() bool { return d.segmentsChanged.Load() || d.quarantineChanged.Load() }

// Sync syncs first where names are added, then where they are removed.
func (d *dirPlace) Sync(context.Context) error {
	if d.quarantineChanged.Swap(false) {
		// If somebody has removed it, there is nothing left to make durable.
		if err := d.syncDir(QuarantineDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.quarantineChanged.Store(true)
			return err
		}
	}
	if d.segmentsChanged.Swap(false) {
		if err := d.syncDir(SegmentDir); err != nil {
			d.segmentsChanged.Store(true)
			return err
		}
	}
	return nil
}

func (d *dirPlace) SyncNames(context.Context) error { return d.syncDir(SegmentDir) }

// syncDir makes the names in a directory of the store durable.
func (d *dirPlace) syncDir(name string) error {
	f, err := d.root.Open(name, sys.ForSync)
	if err == nil {
		err = f.Sync()
		f.Close()
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: filepath.Join(d.dir, name), Err: err}
	}
	return nil
}

// SetAside moves the file under its name or, where that is taken, the next one
// with a number.
func (d *dirPlace) SetAside(_ context.Context, name string, report func(string) string) (path string, err error) {
	if _, err := d.root.Lstat(QuarantineDir); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(d.dir); err != nil { // somebody has removed it
			return "", err
		}
	}
	base := strings.TrimSuffix(name, SegmentSuffix)
	for n := 1; ; n++ {
		to := base
		if n > 1 {
			to = fmt.Sprintf("%s.%d", base, n)
		}
		taken, err := d.isTaken(to)
		if err != nil {
			return "", err
		}
		if taken {
			continue
		}
		path = filepath.Join(d.dir, QuarantineDir, to)
		err = writeReport(path+ReportSuffix, report(to+SegmentSuffix))
		if err != nil {
			return "", err
		}
		err = d.root.RenameNew(SegmentDir+"/"+name, QuarantineDir+"/"+to+SegmentSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue // created just now
		}
		if err != nil {
			return "", &fs.PathError{Op: "rename", Path: path + SegmentSuffix, Err: err}
		}
		d.segmentsChanged.Store(true)
		d.quarantineChanged.Store(true)
		return path + SegmentSuffix, nil
	}
}

// isTaken reports whether a segment of that name is in quarantine. A report alone
// is of a move that a crash cut short: it is written again.
func (d *dirPlace) isTaken(base string) (bool, error) {
	_, err := d.root.Lstat(QuarantineDir + "/" + base + SegmentSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "stat", Path: filepath.Join(d.dir, QuarantineDir, base+SegmentSuffix), Err: err}
	}
	return true, nil
}

func writeReport(path, text string) error {
	f, err := atomicfile.Create(path, 0o644, atomicfile.Options{Temp: "*" + tempSuffix})
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write([]byte(text)); err != nil {
		return err
	}
	return f.Commit()
}

func (d *dirPlace) Create(_ context.Context, name string) (Writer, error) {
	f, err := d.segments.Create(name, 0o644)
	if err != nil {
		return nil, err
	}
	return dirWriter{f}, nil
}

// A dirWriter writes a file beside its name.
type dirWriter struct{ *atomicfile.File }

// Writeback begins to write: an error of the disk comes with the sync.
func (w dirWriter) Writeback(off, n int64) {
	if c, err := w.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { sys.StartWriteback(int(fd), off, n) })
	}
}

func (w dirWriter) Commit() (named bool, err error) {
	err = w.File.Commit()
	return err == nil || errors.Is(err, atomicfile.ErrNotDurable), err
}
