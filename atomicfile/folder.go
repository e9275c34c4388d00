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
	"github.com/stele-go/stele/internal/sys"
)

// A folder is an open directory that has several users: a Dir or a Batch, and
// each of its files. The last of them closes it.
type folder struct {
	name    string // for errors
	dir     sys.Dir
	ordered bool // a sync of dir covers data that the device has answered for
	syncs   sys.SharedSync[struct{}]

	mu   sync.Mutex
	refs int
}

// openFolder opens the directory name for one user.
func openFolder(name string, o Options) (*folder, error) {
	dir, err := sys.OpenDir(name, o.use())
	if err != nil {
		return nil, err
	}
	return &folder{name: name, dir: dir, refs: 1}, nil
}

// use is what a directory has to be opened for. fsync(2) and syncfs(2) refuse
// a descriptor of the kind that needs no read permission.
func (o Options) use() sys.DirUse {
	if o.Level == durability.Power {
		return sys.ForSync
	}
	return sys.ForPath
}

// learn finds out how a sync of the folder can be had for less. It costs some
// calls, too many for one file.
func (at *folder) learn(o Options) {
	at.ordered = o.Level == durability.Power && o.Sync == SyncAuto && at.dir.OrdersData()
}

func (at *folder) acquire() {
	at.mu.Lock()
	at.refs++
	at.mu.Unlock()
}

func (at *folder) release() error {
	at.mu.Lock()
	at.refs--
	last := at.refs == 0
	at.mu.Unlock()
	if !last {
		return nil
	}
	return at.dir.Close()
}

// sync makes the folder's entries durable. Windows has no such call.
func (at *folder) sync() error {
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

// follow takes over the caller's use of at and returns the folder and the
// name that base leads to, and what is there: nil if there is nothing.
func follow(at *folder, base string, o Options) (*folder, string, *sys.FileInfo, error) {
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
		next, name, err := at.behind(base, o)
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

// behind opens the folder that holds what the symlink base leads to.
func (at *folder) behind(base string, o Options) (*folder, string, error) {
	target, err := at.dir.Readlink(base)
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
		next, err := openFolder(dir, o)
		return next, name, err
	}
	d, err := at.dir.Open(dir, o.use())
	if err != nil {
		return nil, "", err
	}
	return &folder{name: join(at.name, dir), dir: d, refs: 1}, name, nil
}

// split cuts path before its last name. dir is "" or ends in a separator, and
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

// hasSeparator reports whether name is more than one name.
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
