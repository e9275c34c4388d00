package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/belowroot"
	"github.com/stele-go/stele/internal/sys"
)

// A confinement keeps a call within the directories of its PATHs. It resolves
// them once, below one root, so that their files can be committed together; a
// symlink that replaces a directory while the call runs is not followed.
//
// The nil confinement, the only one off Linux, resolves files by their paths.
type confinement struct {
	root  *os.Root
	top   sys.Dir           // root's descriptor
	paths map[string]string // paths as the user writes them to paths below root
}

// confine returns the confinement of files and directories, each below its top.
func confine(all []entry) (*confinement, error) {
	if runtime.GOOS != "linux" || len(all) == 0 {
		return nil, nil
	}
	var tops []string
	for _, f := range all {
		if len(tops) == 0 || tops[len(tops)-1] != f.top {
			tops = append(tops, f.top)
		}
	}
	slices.Sort(tops)
	root, below, err := openRoot(slices.Compact(tops))
	if err != nil {
		return nil, err
	}
	c := &confinement{root: root, paths: map[string]string{}}
	if c.top, err = sys.RootDir(root, sys.ForPath); err != nil {
		root.Close()
		return nil, err
	}
	for _, f := range all {
		rel, err := filepath.Rel(f.top, f.path)
		if err != nil { // impossible for the result of a walk
			c.close()
			return nil, err
		}
		c.paths[f.path] = filepath.Join(below[f.top], rel)
	}
	return c, nil
}

func (c *confinement) close() {
	if c != nil {
		c.top.Close()
		c.root.Close()
	}
}

// options sets the options of package header that confine a change.
func (c *confinement) options(o *header.Options) {
	if c != nil {
		o.Root = c.root
		belowroot.Set(o, c.below)
	}
}

// dir returns a directory for package atomicfile, with its root.
func (c *confinement) dir(path string) (string, *os.Root) {
	if c == nil {
		return path, nil
	}
	return c.below(path), c.root
}

// shown returns the error of a sweep with the path dir for below, which is the
// directory below the root.
func (c *confinement) shown(err error, below, dir string) error {
	if c == nil {
		return err
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	for i, err := range all {
		if pe, ok := err.(*fs.PathError); ok {
			rel, _ := filepath.Rel(below, pe.Path)
			all[i] = &fs.PathError{Op: pe.Op, Path: filepath.Join(dir, rel), Err: pe.Err}
		}
	}
	return errors.Join(all...)
}

// below returns the path of a file or directory below the root.
func (c *confinement) below(path string) string { return c.paths[path] }

// open opens a file for reading, without waiting for the other end of a FIFO.
func (c *confinement) open(path string) (*os.File, error) {
	if c == nil {
		return sys.OpenRegular(path, false)
	}
	return c.top.OpenFileBeneath(c.below(path), path, sys.ExactFlags(false), 0, false)
}

// openRoot opens a directory that contains all of dirs, and returns their paths
// below it.
func openRoot(dirs []string) (root *os.Root, below map[string]string, err error) {
	if len(dirs) == 1 {
		root, err := os.OpenRoot(dirs[0])
		if !errors.Is(err, fs.ErrPermission) { // else a parent may be readable
			return root, map[string]string{dirs[0]: "."}, err
		}
	}
	real, err := realPaths("", dirs)
	if err == nil && !slices.ContainsFunc(real, func(dir string) bool { return !filepath.IsLocal(dir) }) {
		// The parents of the working directory need not be accessible.
		root, below, err = openAbove(dirs, real)
		if !errors.Is(err, fs.ErrPermission) {
			return root, below, err
		}
	}
	here, err := os.Getwd() // may contain symlinks, as $PWD does
	if err == nil {
		real, err = realPaths(here, dirs)
	}
	if err != nil {
		return nil, nil, err
	}
	return openAbove(dirs, real)
}

// openAbove opens the nearest readable directory above real, the resolved paths of
// dirs.
func openAbove(dirs, real []string) (root *os.Root, below map[string]string, err error) {
	holds := real[0]
	for _, dir := range real[1:] {
		for !isWithin(holds, dir) {
			holds = filepath.Dir(holds)
		}
	}
	for {
		root, err = os.OpenRoot(holds)
		up := filepath.Dir(holds)
		if !errors.Is(err, fs.ErrPermission) || up == holds {
			break
		}
		holds = up
	}
	if err != nil {
		return nil, nil, err
	}
	below = map[string]string{}
	for i, dir := range dirs {
		if below[dir], err = filepath.Rel(holds, real[i]); err == nil {
			err = leadsTo(root, below[dir], dir)
		}
		if err != nil {
			root.Close()
			return nil, nil, err
		}
	}
	return root, below, nil
}

// realPaths returns dirs with symlinks resolved. Relative paths are joined to here
// unless it is "".
func realPaths(here string, dirs []string) (real []string, err error) {
	real = make([]string, len(dirs))
	for i, dir := range dirs {
		if here != "" && !filepath.IsAbs(dir) {
			dir = here + string(filepath.Separator) + dir // not cleaned: "link/.." is not "."
		}
		if real[i], err = filepath.EvalSymlinks(dir); err != nil {
			return nil, err
		}
	}
	return real, nil
}

// isWithin reports whether the clean path is dir, or below it.
func isWithin(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return dir == "." || ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}

// leadsTo returns an error unless the directory below root is the one that the
// kernel finds by its path: it may refuse to follow a symlink (proc_sys_fs(5),
// fs.protected_symlinks), or follow a magic link, as in /proc.
func leadsTo(root *os.Root, below, path string) error {
	fail := func(err error) error { return &fs.PathError{Op: "open", Path: path, Err: err} }
	want, err := sys.OpenDir(path, sys.ForPath)
	if err != nil {
		return fail(err)
	}
	defer want.Close()
	got, err := sys.OpenIn(root, below, sys.ForPath, false)
	if err != nil {
		return fail(err)
	}
	defer got.Close()
	a, err := want.Identity(".")
	b, err2 := got.Identity(".")
	switch {
	case err != nil || err2 != nil:
		return fail(errors.Join(err, err2))
	case !a.Same(b):
		return fail(fmt.Errorf("the directory was moved, or its path leads elsewhere: %w", syscall.EAGAIN))
	}
	return nil
}
