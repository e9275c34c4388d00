package header

import (
	"cmp"
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
	name     string // no symlink; in folder, if there is one
	below    string // the same below Options.Root
	shown    string // for messages: the name that was given, or where it leads
	folder   *folder
	oneMount bool
}

// A folder below Options.Root is open for the files in it that one goroutine
// works on, and for its next.
type folder struct {
	root  *os.Root
	own   bool    // root is to be closed
	at    sys.Dir // the same folder
	users int
}

func (d *folder) release() {
	if d.users--; d.users > 0 {
		return
	}
	d.at.Close()
	if d.own {
		d.root.Close()
	}
}

// A lastFolder is the folder that a worker has used last. Names often come folder
// by folder.
type lastFolder struct {
	dir string
	*folder
}

func (l *lastFolder) close() {
	if l.folder != nil {
		l.folder.release()
		l.folder = nil
	}
}

// locate finds the place of a regular file.
func (o Options) locate(name string) (p place, err error) {
	if o.Root == nil {
		p.name, err = resolve(name)
		p.shown = p.name
		return p, err
	}
	p = place{below: name, shown: name, oneMount: o.OneMount}
	if o.below != nil {
		p.below = o.below(name)
	}
	if p.below, err = sys.CleanBeneath(p.below); err != nil {
		return p, err
	}
	dir, base := filepath.Split(p.below)
	dir, p.name = filepath.Clean(dir), base
	known := o.last != nil && o.last.folder != nil && o.last.dir == dir
	for {
		if p.folder, err = o.enter(dir); err != nil {
			return p, err
		}
		fi, err := p.lstat()
		if err == nil {
			err = regular(fi.Mode())
		}
		if err == nil {
			return p, nil
		}
		p.close()
		if !known {
			return p, bare(err)
		}
		o.last.close() // there may be another folder of that name by now
		known = false
	}
}

// enter returns the folder dir below Options.Root, which is to be released.
func (o Options) enter(dir string) (*folder, error) {
	if o.last != nil && o.last.folder != nil && o.last.dir == dir {
		o.last.users++
		return o.last.folder, nil
	}
	d, err := openBelow(o.Root, dir, o.OneMount)
	if err == nil && o.last != nil {
		o.last.close()
		*o.last = lastFolder{dir, d}
		d.users++
	}
	return d, err
}

// openBelow opens the folder dir below root.
func openBelow(root *os.Root, dir string, oneMount bool) (*folder, error) {
	top, err := sys.RootDir(root, sys.ForPath)
	if err != nil {
		return nil, bare(err)
	}
	defer top.Close()
	d := &folder{root: root, users: 1}
	if d.at, err = top.OpenBeneath(dir, sys.ForPath, oneMount); err != nil {
		return nil, err
	}
	if dir == "." {
		return d, nil
	}
	if d.root, err = root.OpenRoot(dir); err != nil {
		d.at.Close()
		return nil, bare(err)
	}
	d.own = true
	// An os.Root follows symlinks that stay below it.
	again, err := sys.RootDir(d.root, sys.ForPath)
	if err == nil {
		err = sameFolder(d.at, again)
		again.Close()
	}
	if err != nil {
		d.release()
		return nil, bare(err)
	}
	return d, nil
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
		return p.folder.root.Lstat(p.name)
	}
	return os.Lstat(p.name)
}

// open opens what there is now, but no symlink.
func (p *place) open(write bool) (*os.File, error) {
	if p.folder != nil {
		return p.folder.at.OpenFileBeneath(p.name, p.shown, sys.ExactFlags(write), 0, p.oneMount)
	}
	return sys.OpenRegular(p.name, write)
}

// told gives an error of package atomicfile, which knows the file below a Root by
// another name, the name that was given.
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
	if p.folder != nil {
		p.folder.release()
	}
}

// maxLinks is how many symlinks in a row the kernel follows
// (path_resolution(7)).
const maxLinks = 40

// resolve tells where name leads: to the same, unless that is a symlink. Folders
// before the last name are the kernel's to find.
func resolve(name string) (string, error) {
	for range maxLinks + 1 {
		fi, err := os.Lstat(name)
		if err != nil {
			return "", bare(err)
		}
		if fi.Mode().Type() != fs.ModeSymlink {
			return name, regular(fi.Mode())
		}
		dir, base := filepath.Split(name)
		to, err := follow(dir, base)
		switch {
		case errors.Is(err, syscall.EINVAL): // no symlink any more
		case err != nil:
			return "", bare(err)
		case os.IsPathSeparator(to[0]), filepath.IsAbs(to):
			name = to
		default:
			name = dir + to // not cleaned: "link/.." is not "."
		}
	}
	return "", syscall.ELOOP
}

// follow returns what the symlink base in dir holds, if this process may follow
// it.
func follow(dir, base string) (string, error) {
	at, err := sys.OpenDir(cmp.Or(dir, "."), sys.ForPath)
	if err != nil {
		return "", err
	}
	defer at.Close()
	to, err := at.FollowLink(base)
	if err == nil && to == "" { // on a file system that somebody has made
		err = syscall.ENOENT
	}
	return to, err
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
