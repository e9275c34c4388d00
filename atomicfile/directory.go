package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sharedsync"
	"github.com/stele-go/stele/internal/sys"
)

// A directory is an open directory with a reference count: a Dir or a Batch and each
// of its files hold one. The last release closes it.
type directory struct {
	name    string // for errors
	dir     sys.Dir
	ordered bool // a sync of dir covers data that sync_file_range(2) has written
	remote  bool // close(2) may return write errors; valid if probed
	probed  bool
	syncs   sharedsync.Group[struct{}]

	mu   sync.Mutex
	refs int
}

// openDirectory opens the directory name, "" for ".", with one reference.
func openDirectory(name string, o Options) (*directory, error) {
	if name == "" {
		name = "."
	}
	dir, err := openDir(name, o)
	if err != nil {
		return nil, err
	}
	return &directory{name: name, dir: dir, refs: 1}, nil
}

func openDir(name string, o Options) (sys.Dir, error) {
	return o.open(func(path string, how sys.DirUse) (sys.Dir, error) { return sys.OpenIn(o.Root, path, how, o.OneMount) }, name)
}

// open opens a directory for o.use. Level Power needs read permission; the error
// says so if it is missing.
func (o Options) open(open func(string, sys.DirUse) (sys.Dir, error), path string) (sys.Dir, error) {
	if o.use() == sys.ForSync {
		return sys.OpenToSync(path, open)
	}
	return open(path, o.use())
}

// use returns how a directory has to be opened. fsync(2) and syncfs(2) refuse an
// O_PATH descriptor, the kind that needs no read permission.
func (o Options) use() sys.DirUse {
	if o.Level == durability.Power {
		return sys.ForSync
	}
	return sys.ForPath
}

// probe finds out whether a sync of the directory covers its files, and whether it is
// remote. It takes a few system calls, too many for a single file.
func (at *directory) probe(o Options) {
	at.ordered = o.Level == durability.Power && o.Sync == SyncAuto && at.dir.OrdersData()
	at.remote = o.Level != durability.Power && !at.dir.IsLocal()
	at.probed = true
}

// isRemote reports whether close(2) may return errors that write(2) did not.
func (at *directory) isRemote() bool {
	if at.probed {
		return at.remote
	}
	return !at.dir.IsLocal()
}

func (at *directory) acquire() {
	at.mu.Lock()
	at.refs++
	at.mu.Unlock()
}

func (at *directory) release() error {
	at.mu.Lock()
	at.refs--
	last := at.refs == 0
	at.mu.Unlock()
	if !last {
		return nil
	}
	return at.dir.Close()
}

// sync makes the directory's entries durable. Windows has no such call.
func (at *directory) sync() error {
	if !sys.CanSyncDir {
		return nil
	}
	if err := at.syncs.Do(struct{}{}, at.dir.Sync); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, &fs.PathError{Op: "sync", Path: at.name, Err: err})
	}
	return nil
}

// maxLinks is how many symlinks in a row the kernel follows
// (path_resolution(7)).
const maxLinks = 40

// follow takes over the caller's reference to at and returns the directory and the
// name that base leads to, and the file's info, nil if it does not exist.
func follow(at *directory, base string, o Options) (*directory, string, *sys.FileInfo, error) {
	for links := 0; ; links++ {
		fi, err := at.dir.Info(base)
		if errors.Is(err, fs.ErrNotExist) {
			return at, base, nil, nil
		}
		if err != nil {
			at.release()
			return nil, "", nil, err
		}
		if fi.Mode&fs.ModeSymlink == 0 || o.Links != FollowLinks {
			return at, base, &fi, nil
		}
		next, name, err := at.openTarget(base, o)
		if err == nil && links == maxLinks {
			next.release()
			err = syscall.ELOOP
		}
		at.release()
		if err != nil {
			return nil, "", nil, err
		}
		at, base = next, name
	}
}

// openTarget opens the directory of the target of the symlink base.
func (at *directory) openTarget(base string, o Options) (*directory, string, error) {
	target, err := at.dir.FollowLink(base)
	if err != nil {
		return nil, "", err
	}
	dir, name, err := split(target)
	if err != nil {
		return nil, "", err
	}
	switch {
	case dir == "":
		at.acquire()
		return at, name, nil
	case filepath.IsAbs(dir):
		next, err := openDirectory(dir, o)
		return next, name, err
	}
	d, err := o.open(at.dir.Open, dir)
	if err != nil {
		return nil, "", err
	}
	return &directory{name: join(at.name, dir), dir: d, refs: 1}, name, nil
}

// errReplaced is the error if the name no longer leads to the caller's open file.
var errReplaced = fmt.Errorf("the name leads to another file than the open one: %w", syscall.EBUSY)

// infoOfOpen returns the info of the open file old, and an error unless base is that
// file: the directory was opened by a path, which may lead to another directory by now.
func (at *directory) infoOfOpen(base string, old *os.File) (sys.FileInfo, error) {
	fi, err := sys.InfoOf(old)
	if err != nil {
		return fi, err
	}
	_, err = at.infoIfSame(base, fi)
	return fi, err
}

// infoIfSame returns the info of base, and an error unless base is the file of fi.
func (at *directory) infoIfSame(base string, fi sys.FileInfo) (sys.FileInfo, error) {
	now, err := at.dir.Info(base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !now.Same(fi) {
		err = errReplaced
	}
	return now, err
}

// lookup returns the info of base, nil if it does not exist, and an error if it
// must not be replaced.
func (at *directory) lookup(base string, links Links) (*sys.FileInfo, error) {
	fi, err := at.dir.Info(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &fi, checkReplaceable(fi, links)
}

// checkReplaceable returns an error if old must not be replaced: a rename would
// replace a device by a file.
func checkReplaceable(old sys.FileInfo, links Links) error {
	switch kind := old.Mode.Type(); {
	case kind == fs.ModeDir:
		return syscall.EISDIR
	case kind == fs.ModeSymlink && links == RefuseLinks:
		return syscall.ELOOP
	case kind != 0 && kind != fs.ModeSymlink:
		return fmt.Errorf("%w: not a regular file", fs.ErrInvalid)
	}
	return nil
}

// rename renames temp to base.
func (at *directory) rename(temp, base string, o Options) error {
	if o.NoReplace {
		return at.dir.MoveNew(temp, at.dir, base)
	}
	return at.dir.Rename(temp, base)
}

// split splits path before its last element. dir is "" or ends in a separator, and
// is not cleaned: "link/.." is not ".".
func split(path string) (dir, name string, err error) {
	dir, name = filepath.Split(path)
	switch name {
	case "":
		if path == "" {
			return "", "", syscall.ENOENT
		}
		return "", "", syscall.EISDIR
	case ".", "..":
		return "", "", syscall.EISDIR
	}
	return dir, name, nil
}

// hasSeparator reports whether name has more than one element.
func hasSeparator(name string) bool {
	for i := range len(name) {
		if os.IsPathSeparator(name[i]) {
			return true
		}
	}
	return false
}

// join is filepath.Join without the cleaning.
func join(dir, name string) string {
	if dir == "" || os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
