package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A Group is a control group of its own, whose processes may together use so much memory.
// The kernel charges a page of a file to the group that first touches it, so the limit
// holds for the page cache too.
type Group struct {
	dir   string
	files groupFiles
}

// groupFiles are the files of a group, which the two versions call by other names.
type groupFiles struct{ limit, usage string }

// filesOf has them by the file system of the hierarchy.
var filesOf = map[string]groupFiles{
	"cgroup2": {"memory.max", "memory.current"},
	"cgroup":  {"memory.limit_in_bytes", "memory.usage_in_bytes"},
}

// NewGroup makes a group without a limit, directly below the root of a hierarchy that limits
// memory. One of that name without processes is replaced. The error is
// errors.ErrUnsupported where there is no such hierarchy, or this process may not make
// groups.
func NewGroup(name string) (*Group, error) { return newGroup(mounts(), name) }

func newGroup(mounts []sys.MountPoint, name string) (*Group, error) {
	failed := errors.New("no control groups are mounted")
	for _, m := range mounts {
		g := &Group{filepath.Join(m.Path, name), filesOf[m.FS]}
		err := os.Mkdir(g.dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			if err = os.Remove(g.dir); err == nil {
				err = os.Mkdir(g.dir, 0o755)
			}
		}
		if err != nil {
			failed = err
			continue
		}
		if _, err := os.Stat(filepath.Join(g.dir, g.files.limit)); err != nil { // no controller of memory
			failed = errors.Join(err, os.Remove(g.dir))
			continue
		}
		return g, nil
	}
	return nil, fmt.Errorf("memory: make a control group with a limit of memory: %w: %w", failed, errors.ErrUnsupported)
}

// Dir returns the directory of the group, for Join.
func (g *Group) Dir() string { return g.dir }

// Join moves this process into the group of a directory. Memory that it has already stays
// with the group that it leaves.
func Join(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
}

// Used returns how many bytes of memory the group uses, its page cache included.
func (g *Group) Used() (int64, error) {
	path := filepath.Join(g.dir, g.files.usage)
	n, ok := number(path)
	if !ok {
		return 0, fmt.Errorf("memory: read %s: no number", path)
	}
	return n, nil
}

// Limit sets the most bytes of memory that the group may use. The kernel evicts page cache
// that is above it.
func (g *Group) Limit(n int64) error {
	return os.WriteFile(filepath.Join(g.dir, g.files.limit), strconv.AppendInt(nil, n, 10), 0)
}

// leaveTime is how long Remove waits for processes that end.
const leaveTime = 10 * time.Second

// Remove removes the group. Its processes must have ended; the kernel may notice that after
// their parent. Page cache that they leave stays.
func (g *Group) Remove() error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := os.Remove(g.dir)
		if !errors.Is(err, syscall.EBUSY) || time.Since(begun) > leaveTime {
			return err
		}
	}
}
