package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrEscapes is the error of a path that is not below a root. It is fs.ErrInvalid.
var ErrEscapes = fmt.Errorf("%w: want a path below the root: relative, not empty, and without \"..\"", fs.ErrInvalid)

// CleanBeneath returns path in the form that OpenBeneath and OpenFileBeneath take,
// or ErrEscapes. It refuses "a/.." too: the target of ".." depends on whether a is a
// symlink.
func CleanBeneath(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", ErrEscapes
	}
	for rest := path; rest != ""; {
		n := 0
		for n < len(rest) && !isSeparator(rest[n]) {
			n++
		}
		if rest[:n] == ".." {
			return "", ErrEscapes
		}
		rest = rest[min(n+1, len(rest)):]
	}
	return filepath.Clean(path), nil
}

func isSeparator(c byte) bool { return c == '/' || c == filepath.Separator }

// OpenIn opens the directory name as OpenDir does, or, if root is not nil, below
// root as OpenBeneath does. The error is ErrEscapes for a name that is not below a
// root.
func OpenIn(root *os.Root, name string, how DirUse, oneMount bool) (Dir, error) {
	if root == nil {
		return OpenDir(name, how)
	}
	clean, err := CleanBeneath(name)
	if err != nil {
		return Dir{}, err
	}
	top, err := RootDir(root, ForPath)
	if err != nil {
		return Dir{}, err
	}
	defer top.Close()
	return top.OpenBeneath(clean, how, oneMount)
}

// splitBeneath splits a clean path before its last component. dir is "." for a
// single component.
func splitBeneath(path string) (dir, base string) {
	for i := len(path) - 1; i >= 0; i-- {
		if isSeparator(path[i]) {
			return path[:i], path[i+1:]
		}
	}
	return ".", path
}

// bare returns the cause of a *fs.PathError: the callers add a path of their own.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
