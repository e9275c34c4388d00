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

// A location is where a name leads: a path, or a name in an open directory below
// Options.Root. The directory is opened once, so that it stays the same however its
// path changes.
type location struct {
	name     string // no symlink; a name in dir, if that is not nil
	rel      string // the path below Options.Root
	userName string // for messages: the caller's name, or where it leads
	dir      *rootDir
	oneMount bool
}

// A rootDir is an open directory below Options.Root, shared by the files in it that
// one goroutine works on.
type rootDir struct {
	root *os.Root
	own  bool    // release closes root
	at   sys.Dir // the same directory
	refs int
}

func (d *rootDir) release() {
	if d.refs--; d.refs > 0 {
		return
	}
	d.at.Close()
	if d.own {
		d.root.Close()
	}
}

// A dirCache holds the directory that a worker used last: consecutive names are often of
// one directory.
type dirCache struct {
	dir  string
	last *rootDir
}

func (l *dirCache) close() {
	if l.last != nil {
		l.last.release()
		l.last = nil
	}
}

// locate returns the location of the regular file name.
func (o Options) locate(name string) (p location, err error) {
	if o.Root == nil {
		p.name, err = resolveLinks(name)
		p.userName = p.name
		return p, err
	}
	p = location{rel: name, userName: name, oneMount: o.OneMount}
	if o.mapName != nil {
		p.rel = o.mapName(name)
	}
	if p.rel, err = sys.CleanBeneath(p.rel); err != nil {
		return p, err
	}
	dir, base := filepath.Split(p.rel)
	dir, p.name = filepath.Clean(dir), base
	known := o.cache != nil && o.cache.last != nil && o.cache.dir == dir
	for {
		if p.dir, err = o.openDir(dir); err != nil {
			return p, err
		}
		fi, err := p.lstat()
		if err == nil {
			err = checkRegular(fi.Mode())
		}
		if err == nil {
			return p, nil
		}
		p.close()
		if !known {
			return p, bare(err)
		}
		o.cache.close() // another directory may have that name by now
		known = false
	}
}

// openDir returns the directory dir below Options.Root. The caller must release it.
func (o Options) openDir(dir string) (*rootDir, error) {
	if o.cache != nil && o.cache.last != nil && o.cache.dir == dir {
		o.cache.last.refs++
		return o.cache.last, nil
	}
	d, err := openBelowRoot(o.Root, dir, o.OneMount)
	if err == nil && o.cache != nil {
		o.cache.close()
		*o.cache = dirCache{dir, d}
		d.refs++
	}
	return d, err
}

// openBelowRoot opens the directory dir below root.
func openBelowRoot(root *os.Root, dir string, oneMount bool) (*rootDir, error) {
	top, err := sys.RootDir(root, sys.ForPath)
	if err != nil {
		return nil, bare(err)
	}
	defer top.Close()
	d := &rootDir{root: root, refs: 1}
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
	// OpenRoot follows symlinks that stay below the root.
	again, err := sys.RootDir(d.root, sys.ForPath)
	if err == nil {
		err = checkSameDir(d.at, again)
		again.Close()
	}
	if err != nil {
		d.release()
		return nil, bare(err)
	}
	return d, nil
}

func checkSameDir(a, b sys.Dir) error {
	x, err := a.Identity(".")
	if errors.Is(err, errors.ErrUnsupported) { // then OpenBeneath used an os.Root, too
		return nil
	}
	y, err2 := b.Identity(".")
	switch {
	case err != nil || err2 != nil:
		return errors.Join(err, err2)
	case !x.Same(y):
		return fmt.Errorf("the directory was moved since it was opened; try again: %w", syscall.EAGAIN)
	}
	return nil
}

// lstat describes the file that the location holds now.
func (p *location) lstat() (fs.FileInfo, error) {
	if p.dir != nil {
		return p.dir.root.Lstat(p.name)
	}
	return os.Lstat(p.name)
}

// open opens the file that the location holds now, unless that is a symlink.
func (p *location) open(write bool) (*os.File, error) {
	if p.dir != nil {
		return p.dir.at.OpenFileBeneath(p.name, p.userName, sys.ExactFlags(write), 0, p.oneMount)
	}
	return sys.OpenRegular(p.name, write)
}

// withUserName replaces the path in an error of package atomicfile, which has another
// name for a file below a Root, by the caller's name.
func (p *location) withUserName(err error) error {
	pe, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok || p.dir == nil:
		return err
	case errors.Is(err, atomicfile.ErrNotDurable):
		return fmt.Errorf("%w: %w", atomicfile.ErrNotDurable, &fs.PathError{Op: pe.Op, Path: filepath.Dir(p.userName), Err: pe.Err})
	}
	return &fs.PathError{Op: pe.Op, Path: p.userName, Err: pe.Err}
}

func (p *location) close() {
	if p.dir != nil {
		p.dir.release()
	}
}

// maxLinks is how many symlinks in a row the kernel follows
// (path_resolution(7)).
const maxLinks = 40

// resolveLinks returns the path that name leads to, name itself unless it is a
// symlink. It resolves the last element only; the kernel resolves the directories.
func resolveLinks(name string) (string, error) {
	for range maxLinks + 1 {
		fi, err := os.Lstat(name)
		if err != nil {
			return "", bare(err)
		}
		if fi.Mode().Type() != fs.ModeSymlink {
			return name, checkRegular(fi.Mode())
		}
		dir, base := filepath.Split(name)
		to, err := readLink(dir, base)
		switch {
		case errors.Is(err, syscall.EINVAL): // no longer a symlink
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

// readLink returns the target of the symlink base in dir, if this process may follow
// it.
func readLink(dir, base string) (string, error) {
	at, err := sys.OpenDir(cmp.Or(dir, "."), sys.ForPath)
	if err != nil {
		return "", err
	}
	defer at.Close()
	to, err := at.FollowLink(base)
	if err == nil && to == "" { // possible on FUSE
		err = syscall.ENOENT
	}
	return to, err
}

var errNotRegular = fmt.Errorf("%w: not a regular file", fs.ErrInvalid)

// checkRegular returns an error unless mode is that of a regular file.
func checkRegular(mode fs.FileMode) error {
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeSymlink:
		return syscall.ELOOP
	case fs.ModeDir:
		return syscall.EISDIR
	}
	return errNotRegular
}
