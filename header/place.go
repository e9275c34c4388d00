package header

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
)

// A place is where a name leads: a path, or a name in an open folder below
// Options.Root. Such a folder is found once, so that it stays the same however
// the names that led there change.
type place struct {
	name     string   // no symlink
	shown    string   // for messages: the name that was given, or where it leads
	folder   *os.Root // nil without Options.Root
	at       sys.Dir  // the same folder
	own      bool     // folder is to be closed
	oneMount bool
}

// locate finds the place of a regular file.
func (o Options) locate(name string) (p place, err error) {
	if o.Root == nil {
		p.name, err = resolve(name)
		p.shown = p.name
		return p, err
	}
	clean, err := sys.CleanBeneath(name)
	if err != nil {
		return p, err
	}
	dir, base := filepath.Split(clean)
	p = place{name: base, shown: name, oneMount: o.OneMount}
	if err := p.enter(o.Root, filepath.Clean(dir)); err != nil {
		return p, err
	}
	fi, err := p.lstat()
	if err == nil {
		err = regular(fi.Mode())
	}
	if err != nil {
		p.close()
	}
	return p, bare(err)
}

// enter opens the folder dir below root.
func (p *place) enter(root *os.Root, dir string) error {
	top, err := sys.RootDir(root, sys.ForPath)
	if err != nil {
		return bare(err)
	}
	defer top.Close()
	if p.at, err = top.OpenBeneath(dir, sys.ForPath, p.oneMount); err != nil {
		return err
	}
	if p.folder = root; dir != "." {
		if p.folder, err = root.OpenRoot(dir); err != nil {
			p.at.Close()
			return bare(err)
		}
		p.own = true
	}
	// An os.Root follows symlinks that stay below it.
	again, err := sys.RootDir(p.folder, sys.ForPath)
	if err == nil {
		err = sameFolder(p.at, again)
		again.Close()
	}
	if err != nil {
		p.close()
	}
	return bare(err)
}

func sameFolder(a, b sys.Dir) error {
	x, err := a.Identity(".")
	if errors.Is(err, errors.ErrUnsupported) { // then OpenBeneath was an os.Root, too
		return nil
	}
	y, err2 := b.Identity(".")
	switch {
	case err != nil || err2 != nil:
		return errors.Join(err, err2)
	case !x.Same(y):
		return fmt.Errorf("the folder was moved meanwhile: %w", syscall.EAGAIN)
	}
	return nil
}

// lstat tells what there is now.
func (p *place) lstat() (fs.FileInfo, error) {
	if p.folder != nil {
		return p.folder.Lstat(p.name)
	}
	return os.Lstat(p.name)
}

// open opens what there is now, but no symlink.
func (p *place) open(write bool) (*os.File, error) {
	if p.folder != nil {
		return p.at.OpenFileBeneath(p.name, p.shown, sys.ExactFlags(write), 0, p.oneMount)
	}
	return sys.OpenRegular(p.name, write)
}

// told gives an error of package atomicfile, which knows the file below a Root by
// its name in the folder, the name that was given.
func (p *place) told(err error) error {
	pe, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok || p.folder == nil:
		return err
	case errors.Is(err, atomicfile.ErrNotDurable):
		return fmt.Errorf("%w: %w", atomicfile.ErrNotDurable, &fs.PathError{Op: pe.Op, Path: filepath.Dir(p.shown), Err: pe.Err})
	}
	return &fs.PathError{Op: pe.Op, Path: p.shown, Err: pe.Err}
}

func (p *place) close() {
	if p.folder == nil {
		return
	}
	p.at.Close()
	if p.own {
		p.folder.Close()
	}
}

// resolve tells where name leads: to the same, unless that is a symlink.
func resolve(name string) (string, error) {
	fi, err := os.Lstat(name)
	if err != nil {
		return "", bare(err)
	}
	if fi.Mode().Type() == fs.ModeSymlink {
		// The kernel follows it first, and so tells whether this process may: see
		// fs.protected_symlinks in proc_sys_fs(5).
		if _, err := os.Stat(name); err != nil {
			return "", bare(err)
		}
		path, err := filepath.EvalSymlinks(name)
		return path, bare(err)
	}
	return name, regular(fi.Mode())
}

var errIrregular = fmt.Errorf("%w: not a regular file", fs.ErrInvalid)

// regular refuses what is no regular file.
func regular(mode fs.FileMode) error {
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeSymlink:
		return syscall.ELOOP
	case fs.ModeDir:
		return syscall.EISDIR
	}
	return errIrregular
}
